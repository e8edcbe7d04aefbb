import type { Step } from '../definition.js';
import type { Edges } from '../graph.js';
import { isObject, own } from '../json.js';
import type { ValidationContext } from './context.js';
import type { TemplateUse } from './templates.js';

const SPELLINGS = new Set(['true', 'True', 'TRUE', 'false', 'False', 'FALSE']);

/** Conditions that cannot work, and comparisons that Go refuses. */
export function checkConditions(context: ValidationContext, edges: Edges, uses: readonly TemplateUse[]): void {
  for (const use of uses) {
    checkComparisons(context, edges, use);
    if (use.role !== 'condition') continue;
    checkText(use);
    checkOptionalParameter(context, use);
    checkFallback(context, edges, use);
  }
}

function checkComparisons({ steps }: ValidationContext, edges: Edges, { cursor, owner, analysis }: TemplateUse): void {
  for (const { path, literal } of analysis.comparisons) {
    const [root, id = '', kind, field = ''] = path;
    const number = root === 'params' ? path.length > 1 : root === 'steps' && kind === 'output' && path.length > 3;
    if (!number) continue;
    // The counters of a loop are integers, unlike all numbers that come as JSON.
    const counter =
      steps[edges.indexOf.get(id) ?? -1]?.step.type === 'forEach' && ['count', 'completed', 'failed'].includes(field);
    if (root === 'steps' && counter) continue;
    const message = `${cursor.path} compares .${path.join('.')} with the integer ${literal}, but numbers of JSON are floats`;
    cursor.report('workflow/number-literal', message, {
      severity: 'warning',
      hint: `write ${literal.replaceAll('_', '')}.0`,
      stepId: owner?.step.id,
    });
  }
}

function checkText({ cursor, owner, source, analysis }: TemplateUse): void {
  const report = (problem: string, hint: string): void =>
    cursor.report('workflow/condition', `${cursor.path} ${problem}`, {
      severity: 'warning',
      hint,
      stepId: owner?.step.id,
    });
  if (analysis.constant) {
    const text = analysis.texts.join('');
    if (SPELLINGS.has(text)) return;
    report(
      `is always ${JSON.stringify(text.slice(0, 60))}, which is neither true nor false`,
      'write a template: "{{eq .params.a "b"}}"',
    );
  } else if (analysis.texts.some((text) => /\s/.test(text))) {
    report(
      'has space outside of its braces, so that it is never exactly true or false',
      `write ${JSON.stringify(source.trim().slice(0, 80))}`,
    );
  }
}

/** `{{.params.flag}}` renders `<no value>` when the flag is left out. */
function checkOptionalParameter({ definition }: ValidationContext, { cursor, owner, source }: TemplateUse): void {
  const name = /^\{\{-?\s*\.params\.([\p{L}\p{N}_]+)\s*-?\}\}$/u.exec(source)?.[1];
  const { parameters } = definition;
  if (name === undefined || parameters === undefined) return;
  const properties = own(parameters, 'properties');
  const property = isObject(properties) ? own(properties, name) : undefined;
  const required = own(parameters, 'required');
  if (!isObject(property) || Object.hasOwn(property, 'default')) return;
  if (Array.isArray(required) && required.includes(name)) return;
  cursor.report(
    'workflow/condition',
    `${cursor.path} reads parameter ${JSON.stringify(name)}, which may be left out: the step fails then`,
    {
      severity: 'warning',
      hint: 'give the parameter a default, or require it',
      stepId: owner?.step.id,
    },
  );
}

/** A step that waits for a failure which ends the run. */
function checkFallback({ definition, steps }: ValidationContext, edges: Edges, use: TemplateUse): void {
  const { cursor, owner, source, analysis } = use;
  if (definition.failureMode === 'continue' || owner === undefined) return;
  for (const { path } of analysis.reads) {
    const [root, id = '', field] = path;
    if (root !== 'steps' || (field !== 'status' && field !== 'error')) continue;
    const target = steps[edges.indexOf.get(id) ?? -1]?.step;
    if (target === undefined || survives(target, owner.step)) continue;
    const aboutFailure = field === 'error' || /"failed"|`failed`|\bne\b[^}]*(?:"completed"|`completed`)/.test(source);
    if (!aboutFailure) continue;
    const message = `${cursor.path} waits for a failure of step "${id}", but that failure ends the run`;
    const hint = `write onError: {action: continue} on step "${id}", or failureMode: continue`;
    cursor.report('workflow/unreachable-fallback', message, { severity: 'warning', hint, stepId: owner.step.id });
  }
}

/** A step may fail without ending the run; exhausted retries may where a dependent looks at the status. */
function survives(step: Step, reader: Step): boolean {
  if (step.type === 'elicitation') return false;
  if (step.onError.action === 'continue') return true;
  if (step.type !== 'tool' || step.onError.action !== 'retry') return false;
  return step.onError.onExhausted === 'continue' || reader.dependsOn.includes(step.id);
}
