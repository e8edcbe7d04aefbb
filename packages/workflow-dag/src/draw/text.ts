import { printable, type Drawing, type DrawnStep } from './model.js';

/** Levels and steps as lines of text. */
export function drawText({ name, levels, stats }: Drawing): string {
  const all = levels.flat();
  const width = Math.max(0, ...all.map(({ id }) => [...printable(id)].length));
  const labelWidth = Math.max(0, ...all.map((step) => [...what(step)].length));
  const lines = [printable(name)];
  for (const [level, steps] of levels.entries()) {
    lines.push(`level ${level + 1}${steps.length > 1 ? ` (${steps.length} in parallel)` : ''}`);
    for (const step of steps) {
      const id = pad(printable(step.id), width);
      const notes = notesOf(step);
      lines.push(`  ${id}  ${notes === '' ? what(step) : `${pad(what(step), labelWidth)}  ${notes}`}`.trimEnd());
    }
  }
  const { total_steps: steps, total_levels: count, max_parallelism: most, sequential_steps: single } = stats;
  lines.push(
    `${steps} ${steps === 1 ? 'step' : 'steps'} in ${count} ${count === 1 ? 'level' : 'levels'}, at most ${most} in parallel, ${single} alone`,
  );
  return `${lines.join('\n')}\n`;
}

function what({ type, label }: DrawnStep): string {
  const text = printable(label);
  if (type === 'tool') return text;
  return type === 'forEach' ? `for each: ${text}` : `ask: ${text}`;
}

function notesOf({ dependsOn, conditional, optional }: DrawnStep): string {
  const notes = [
    dependsOn.length === 0 ? '' : `after ${dependsOn.map(printable).join(', ')}`,
    conditional ? 'conditional' : '',
    optional ? 'may fail' : '',
  ];
  return notes.filter((note) => note !== '').join('; ');
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - [...text].length));
}
