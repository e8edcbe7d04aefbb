import { printable, type Drawing, type DrawnStep } from './model.js';

const CHARACTER = 7.3;
const HEIGHT = 46;
const GAP_X = 28;
const GAP_Y = 54;
const MARGIN = 24;

interface Box {
  readonly step: DrawnStep;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** The graph as a picture by itself: a row for each level, no script, no font from elsewhere. */
export function drawSvg(drawing: Drawing): string {
  const rows = drawing.levels.map((steps) => steps.map((step) => ({ step, width: widthOf(step) })));
  const widths = rows.map((row) => row.reduce((sum, { width }) => sum + width + GAP_X, -GAP_X));
  const inner = Math.max(0, ...widths);
  const boxes = rows.flatMap((row, level) => place(row, (inner - (widths[level] ?? 0)) / 2 + MARGIN, level));
  const byId = new Map(boxes.map((box) => [box.step.id, box]));
  const width = round(inner + 2 * MARGIN);
  const height = round(rows.length * (HEIGHT + GAP_Y) - (rows.length > 0 ? GAP_Y : 0) + 2 * MARGIN);
  const edges = boxes.flatMap((box) =>
    box.step.dependsOn.flatMap((dependency) => {
      const from = byId.get(dependency);
      return from === undefined ? [] : [edge(from, box)];
    }),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">`,
    `<title>${escape(drawing.name)}</title>`,
    `<desc>${escape(drawing.description)}</desc>`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#6b7280"/></marker></defs>',
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...edges,
    ...boxes.map(draw),
    '</svg>',
    '',
  ].join('\n');
}

function widthOf({ id, label }: DrawnStep): number {
  const longest = Math.max([...printable(id)].length, [...printable(label)].length, 8);
  return Math.ceil(longest * CHARACTER) + 24;
}

function place(
  row: readonly { readonly step: DrawnStep; readonly width: number }[],
  start: number,
  level: number,
): Box[] {
  let x = start;
  return row.map(({ step, width }) => {
    const box = { step, x: round(x), y: MARGIN + level * (HEIGHT + GAP_Y), width };
    x += width + GAP_X;
    return box;
  });
}

function edge(from: Box, to: Box): string {
  const x1 = round(from.x + from.width / 2);
  const x2 = round(to.x + to.width / 2);
  const y1 = from.y + HEIGHT;
  const bend = round((to.y - y1) / 2);
  const dashes = to.step.conditional ? ' stroke-dasharray="5 4"' : '';
  return `<path d="M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${to.y - bend} ${x2} ${to.y}" fill="none" stroke="#6b7280"${dashes} marker-end="url(#arrow)"/>`;
}

const COLOURS = { tool: '#eff6ff', elicitation: '#fef9c3', forEach: '#ecfdf5' } as const;

function draw({ step, x, y, width }: Box): string {
  const dashes = step.conditional ? ' stroke-dasharray="5 4"' : '';
  const radius = step.type === 'elicitation' ? HEIGHT / 2 : 6;
  const frame = (offset: number): string =>
    `<rect x="${x + offset}" y="${y - offset}" width="${width}" height="${HEIGHT}" rx="${radius}" fill="${COLOURS[step.type]}" stroke="#374151"${dashes}/>`;
  const middle = round(x + width / 2);
  return [
    '<g>',
    ...(step.type === 'forEach' ? [frame(4)] : []),
    frame(0),
    `<text x="${middle}" y="${y + 19}" text-anchor="middle" font-weight="600" fill="#111827">${escape(step.id)}</text>`,
    `<text x="${middle}" y="${y + 35}" text-anchor="middle" fill="#4b5563">${escape(step.label)}</text>`,
    '</g>',
  ].join('');
}

function escape(text: string): string {
  return printable(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
