import stringWidth from 'string-width';
import { plain, printable } from './safe-text.js';

/** Shortens to `width` columns, with an ellipsis. */
export function ellipsis(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let cut = '';
  for (const character of text) {
    if (stringWidth(cut + character) > width - 1) break;
    cut += character;
  }
  return `${cut}…`;
}

/**
 * Columns that `grep` and `awk` can read: a heading, one line a row, three spaces between columns, no frame.
 * The last column is not padded. Cells are made safe for a terminal; `style` may colour one afterwards.
 */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  style: (cell: string, column: number, row: number) => string = (cell) => cell,
): string {
  const cells = [headings, ...rows.map((row) => row.map(plain))];
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => stringWidth(row[column] ?? ''))));
  return cells
    .map((row, index) =>
      headings
        .map((_, column) => {
          const cell = row[column] ?? '';
          const shown = index === 0 ? cell : style(cell, column, index - 1);
          if (column === headings.length - 1) return shown;
          return shown + ' '.repeat((widths[column] ?? 0) - stringWidth(cell) + 3);
        })
        .join('')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

/** `Name:  value` lines with aligned values. */
export function formatFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...fields.map(([name]) => stringWidth(name) + 1));
  return fields.map(([name, value]) => `${`${name}:`.padEnd(width)}   ${printable(value)}\n`).join('');
}
