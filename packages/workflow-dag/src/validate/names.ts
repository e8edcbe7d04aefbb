import { LIMITS } from '../definition.js';
import { parseToolReference } from '../tool-ref.js';
import type { Cursor } from '../parse/cursor.js';
import { reportStep, type PlacedStep, type ValidationContext } from './context.js';

const NAME = /^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$/;

/** The name of the workflow, the ids of its steps, the references of its tools. */
export function checkNames(context: ValidationContext): void {
  const { definition, root, steps, options } = context;
  const { name } = definition;
  const field = root.get('name');
  const fits = NAME.test(name) && name.length <= LIMITS.nameLength;
  if (options.strictNames !== false && name !== '' && !fits) {
    const message = `${field.path} must match ${NAME.source} and be 1-${LIMITS.nameLength} characters (got ${JSON.stringify(name)})`;
    field.report('workflow/name', message, { hint: `rename it, for example to ${suggestion(name)}` });
  }
  const qualified = options.requireQualified ?? definition.form === 'kubernetes';
  for (const placed of steps) {
    checkId(placed);
    if (placed.step.type === 'tool') checkTool(placed.cursor.get('tool'), placed.step.tool, placed, qualified);
    if (placed.step.type === 'forEach') {
      checkTool(placed.cursor.get('step').get('tool'), placed.step.step.tool, placed, qualified);
    }
  }
}

function checkId(placed: PlacedStep): void {
  const { id } = placed.step;
  if (id === '' || /^[\p{L}_][\p{L}\p{N}_]*$/u.test(id)) return;
  const at = placed.cursor.get('id');
  const message = `${at.path} ${JSON.stringify(id)} is only reachable through index .steps ${JSON.stringify(id)}`;
  reportStep(at, 'workflow/step-id-characters', message, placed, {
    severity: 'warning',
    hint: 'use letters, digits and "_", with no digit first',
  });
}

function checkTool(at: Cursor, tool: string, placed: PlacedStep, qualified: boolean): void {
  if (tool === '') return;
  const reference = parseToolReference(tool);
  if (qualified && reference?.workload === undefined) {
    const message = `${at.path} must be in format 'workload.tool_name'`;
    reportStep(at, 'workflow/tool', message, placed, {
      hint: `write the workload before the name: workload.${toolPart(tool)}`,
    });
  } else if (reference === undefined) {
    const message = `${at.path} must be a valid tool name (got ${JSON.stringify(tool)})`;
    reportStep(at, 'workflow/tool', message, placed, {
      hint: "use letters, digits, '.', '_' and '-': workload.tool_name",
    });
  }
}

function toolPart(tool: string): string {
  const cleaned = tool.replaceAll(/[^a-zA-Z0-9_-]+/g, '_').replaceAll(/^_+|_+$/g, '');
  return cleaned === '' ? 'tool_name' : cleaned;
}

function suggestion(name: string): string {
  const plain = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '_')
    .slice(0, LIMITS.nameLength)
    .replaceAll(/^[_-]+|[_-]+$/g, '');
  return plain === '' ? 'deploy_app' : plain;
}
