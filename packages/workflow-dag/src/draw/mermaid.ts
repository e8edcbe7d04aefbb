import { printable, type Drawing, type DrawnStep } from './model.js';

const ENTITIES: Readonly<Record<string, string>> = {
  '"': '#quot;',
  '#': '#35;',
  '<': '#lt;',
  '>': '#gt;',
  '&': '#amp;',
  '`': '#96;',
  '\\': '#92;',
};

/** The graph as a Mermaid flowchart. Steps are called s0, s1, … since many ids would be words of the language. */
export function drawMermaid({ levels }: Drawing): string {
  const steps = levels.flat();
  const names = new Map(steps.map(({ id }, index) => [id, `s${index}`]));
  const lines = ['flowchart TD', ...steps.map((step) => `  ${names.get(step.id) ?? ''}${shapeOf(step)}`)];
  for (const { id, dependsOn, conditional } of steps) {
    const arrow = conditional ? '-.->' : '-->';
    for (const dependency of dependsOn) lines.push(`  ${names.get(dependency) ?? ''} ${arrow} ${names.get(id) ?? ''}`);
  }
  return `${lines.join('\n')}\n`;
}

function shapeOf({ id, type, label }: DrawnStep): string {
  const text = `"${escape(id)}<br/>${escape(label)}"`;
  if (type === 'elicitation') return `([${text}])`;
  return type === 'forEach' ? `[[${text}]]` : `[${text}]`;
}

function escape(text: string): string {
  return printable(text).replaceAll(/["#<>&`\\]/g, (char) => ENTITIES[char] ?? char);
}
