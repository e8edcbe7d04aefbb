import type { WorkflowDefinition } from './definition.js';
import { WorkflowError } from './errors.js';
import { drawDot } from './draw/dot.js';
import { drawMermaid } from './draw/mermaid.js';
import { readDrawing, type Drawing } from './draw/model.js';
import { drawSvg } from './draw/svg.js';
import { drawText } from './draw/text.js';

/** What a workflow can be drawn as. */
export type DrawFormat = 'text' | 'mermaid' | 'dot' | 'svg' | 'json';

const FORMATS: Readonly<Record<DrawFormat, (drawing: Drawing) => string>> = {
  text: drawText,
  mermaid: drawMermaid,
  dot: drawDot,
  svg: drawSvg,
  json: ({ name, levels, stats }) =>
    `${JSON.stringify({ name, levels: levels.map((level) => level.map(({ id }) => id)), stats, steps: levels.flat() }, null, 2)}\n`,
};

/**
 * Draws the graph of a workflow. Text of the definition is escaped for the format, control characters are replaced.
 *
 * @throws WorkflowError as {@link buildPlan} does, and `ERR_WORKFLOW_DAG_ARGUMENT` for an unknown format.
 */
export function drawWorkflow(definition: WorkflowDefinition, format: DrawFormat): string {
  if (!Object.hasOwn(FORMATS, format)) {
    const known = Object.keys(FORMATS).join(', ');
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_ARGUMENT',
      `Expected \`format\` to be one of ${known}, got \`${String(format)}\``,
    );
  }
  return FORMATS[format](readDrawing(definition));
}
