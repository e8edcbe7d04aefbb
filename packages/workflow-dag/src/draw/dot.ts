import { printable, type Drawing, type DrawnStep } from './model.js';

/** The graph in the language of Graphviz, a rank for each level. @see https://graphviz.org/doc/info/lang.html */
export function drawDot({ name, levels }: Drawing): string {
  const lines = [`digraph ${quote(name)} {`, '  rankdir=TB;', '  node [shape=box, fontname="sans-serif"];'];
  for (const steps of levels) {
    for (const step of steps) lines.push(`  ${quote(step.id)} [${attributesOf(step)}];`);
    if (steps.length > 1) lines.push(`  { rank=same; ${steps.map(({ id }) => `${quote(id)};`).join(' ')} }`);
  }
  for (const { id, dependsOn } of levels.flat()) {
    for (const dependency of dependsOn) lines.push(`  ${quote(dependency)} -> ${quote(id)};`);
  }
  return `${[...lines, '}'].join('\n')}\n`;
}

function attributesOf({ id, type, label, conditional }: DrawnStep): string {
  const styles = [type === 'elicitation' ? 'rounded' : '', conditional ? 'dashed' : ''].filter((style) => style !== '');
  const attributes = [
    `label=${quote(`${id}\n${label}`)}`,
    ...(styles.length === 0 ? [] : [`style=${quote(styles.join(','))}`]),
    ...(type === 'forEach' ? ['peripheries=2'] : []),
  ];
  return attributes.join(', ');
}

function quote(text: string): string {
  const lines = text.split('\n').map((line) => printable(line).replaceAll('\\', '\\\\').replaceAll('"', '\\"'));
  return `"${lines.join('\\n')}"`;
}
