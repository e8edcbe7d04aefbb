import { parseDefinition, type WorkflowDefinition } from '../../src/index.js';

/** A plain definition from its steps (YAML, at the left margin) and what else it has. */
export function define(steps: string, rest: Record<string, unknown> = {}): WorkflowDefinition {
  const indented = steps.replace(/^/gm, '  ');
  const head = Object.entries({ name: 'sample', description: 'A sample.', ...rest })
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    .join('\n');
  return parseDefinition(`${head}\nsteps:\n${indented}`, { format: 'config' });
}
