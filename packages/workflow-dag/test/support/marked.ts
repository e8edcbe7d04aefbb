/** Where the mark stands in a text, and the text without it. */
export function marked(text: string): { readonly source: string; readonly line: number; readonly column: number } {
  const at = text.indexOf('‸');
  if (at < 0) throw new Error('the text has no mark');
  const before = text.slice(0, at).split('\n');
  return { source: text.replace('‸', ''), line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** A workflow of one tool step with these lines added below it. */
export function oneStep(lines: string): string {
  return `name: a\ndescription: d\nsteps:\n  - id: s\n    tool: w.t\n${indent(lines, 4)}`;
}

/** A workflow with these lines as its steps. */
export function withSteps(lines: string): string {
  return `name: a\ndescription: d\nsteps:\n${indent(lines, 2)}`;
}

/** A workflow with these lines at its top and one good step. */
export function withTop(lines: string): string {
  return `${lines}\nsteps:\n  - {id: s, tool: w.t}\n`;
}

function indent(lines: string, width: number): string {
  return lines.replaceAll(/^/gm, ' '.repeat(width));
}
