import { LIMITS } from '../definition.js';
import { findCycle, readEdges, type Edges } from '../graph.js';
import { nearest } from '../parse/nearest.js';
import { reportStep, type ValidationContext } from './context.js';

/** Number of steps, ids, dependencies and cycles. Answers the edges. */
export function checkGraph({ root, steps, options, definition }: ValidationContext): Edges {
  const most = options.maxSteps ?? LIMITS.steps;
  const field = root.get('steps');
  if (steps.length > most) {
    const message = `${field.path}: too many steps: ${steps.length} (max ${most})`;
    field.report('workflow/steps', message, { hint: 'split the workflow' });
  }
  const edges = readEdges(definition.steps);
  for (const index of edges.duplicates) {
    const placed = steps[index];
    if (placed === undefined || placed.step.id === '') continue;
    const at = placed.cursor.get('id');
    const first = edges.indexOf.get(placed.step.id) ?? 0;
    const hint = `rename one of the two; the other is ${field.path}[${first}]`;
    reportStep(at, 'workflow/duplicate-step', `${at.path} ${JSON.stringify(placed.step.id)} is duplicated`, placed, {
      hint,
    });
  }
  reportUnknown(edges, { root, steps, options, definition });
  const cycle = findCycle(edges);
  if (cycle !== undefined) {
    const names = cycle.map((index) => definition.steps[index]?.id ?? '');
    const placed = steps[cycle[0] ?? 0];
    const at = placed?.cursor.get('dependsOn') ?? field;
    const [from = '', to = ''] = names;
    at.report('workflow/cycle', `${field.path}: circular dependency detected: ${names.join(' -> ')}`, {
      hint:
        from === to
          ? `remove "${to}" from its own dependsOn`
          : `remove "${to}" from the dependsOn of "${from}", or another of these`,
      stepId: from,
    });
  }
  return edges;
}

function reportUnknown(edges: Edges, { steps }: ValidationContext): void {
  for (const { step, dependency } of edges.unknown) {
    const placed = steps[step];
    if (placed === undefined) continue;
    const field = placed.cursor.get('dependsOn');
    const at = field.items().find(({ value }) => value === dependency) ?? field;
    const near = nearest(dependency, edges.indexOf.keys());
    const hint =
      near === undefined ? `steps: ${[...edges.indexOf.keys()].slice(0, 20).join(', ')}` : `did you mean "${near}"?`;
    const message = `${field.path} references unknown step ${JSON.stringify(dependency)}`;
    reportStep(at, 'workflow/unknown-dependency', message, placed, { hint });
  }
}
