import type { StepResult, WorkflowDefinition, WorkflowEvent } from '@thv/workflow-dag';
import type { CliContext } from '../../context.js';
import { plain } from '../../output/safe-text.js';
import { ellipsis, formatTable } from '../../output/table.js';
import { seconds, StepRows } from './step-rows.js';
import type { StepRow } from './step-rows.js';

/** Shows a run while it runs. */
export interface Progress {
  /** Takes in what an earlier process has done. */
  restore(steps: Readonly<Record<string, StepResult>>): void;
  onEvent(event: WorkflowEvent): void;
  /** Stops drawing until `resume`, so that a question can be asked. */
  pause(): void;
  resume(): void;
  /** Shows the last state and leaves it there. */
  end(): void;
}

const headings = ['STEP', 'STATUS', 'TRY', 'TIME', 'NOTE'];
const frameMs = 120;

/** A live table on a terminal, otherwise a line for each step that ends; both on stderr. */
export function showProgress(definition: Pick<WorkflowDefinition, 'steps'>, context: CliContext): Progress {
  if (context.wantsJson || context.quiet) return silent;
  return context.stderr.isTTY === true ? liveTable(definition, context) : lines(definition, context);
}

const silent: Progress = {
  restore: () => undefined,
  onEvent: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
  end: () => undefined,
};

function lines(definition: Pick<WorkflowDefinition, 'steps'>, context: CliContext): Progress {
  const rows = new StepRows(definition);
  const told = new Set(['step_completed', 'step_failed', 'step_skipped', 'step_retrying', 'elicitation_requested']);
  return {
    ...silent,
    restore: (steps) => rows.restore(steps),
    onEvent(event) {
      const id = rows.apply(event);
      if (id === undefined || !told.has(event.type)) return;
      const row = rows.row(id, event.at);
      if (row !== undefined)
        context.note(
          cells(row)
            .map(plain)
            .filter((cell) => cell !== '')
            .join('  '),
        );
    },
  };
}

function liveTable(definition: Pick<WorkflowDefinition, 'steps'>, context: CliContext): Progress {
  const rows = new StepRows(definition);
  const { stderr } = context;
  let drawn = 0;
  let timer: NodeJS.Timeout | undefined;
  const erase = (): void => {
    if (drawn > 0) stderr.write(`\u001b[${drawn}A\u001b[J`);
    drawn = 0;
  };
  const draw = (all: boolean): void => {
    const shown = rows.rows(Date.now());
    // A terminal that does not tell its size says zero.
    const height = (stderr as { readonly rows?: number }).rows || 24;
    // A table that is taller than the terminal could not be drawn over: what is over goes first.
    const live = all || shown.length + 2 <= height ? shown : foremost(shown, height - 3);
    const text = tableOf(live, context);
    const hidden = live.length < shown.length ? `… ${shown.length - live.length} more steps\n` : '';
    erase();
    stderr.write(text + hidden);
    drawn = text.split('\n').length - 1 + (hidden === '' ? 0 : 1);
  };
  const start = (): void => {
    if (timer !== undefined) return;
    timer = setInterval(() => draw(false), frameMs);
    timer.unref();
    draw(false);
  };
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
    erase();
  };
  start();
  return {
    restore: (steps) => rows.restore(steps),
    onEvent: (event) => void rows.apply(event),
    pause: stop,
    resume: start,
    end() {
      stop();
      draw(true);
    },
  };
}

/** Steps under way, then those that have ended badly, then the others, in their order. */
function foremost(rows: readonly StepRow[], count: number): StepRow[] {
  const rank = ({ status }: StepRow): number =>
    ['running', 'asking'].includes(status) ? 0 : status === 'failed' ? 1 : status === 'waiting' ? 2 : 3;
  const chosen = new Set([...rows].sort((a, b) => rank(a) - rank(b)).slice(0, Math.max(1, count)));
  return rows.filter((row) => chosen.has(row));
}

/** The table of steps. */
export function tableOf(rows: readonly StepRow[], { style, noteStyle, stderr }: CliContext): string {
  const paint = noteStyle.enabled ? noteStyle : style;
  const columns = stderr.columns || 100;
  const fixed = rows.map(cells);
  const used = headings
    .slice(0, 4)
    .map((heading, column) => Math.max(heading.length, ...fixed.map((row) => plain(row[column] ?? '').length)) + 3);
  const room = Math.max(20, columns - used.reduce((sum, width) => sum + width, 0) - 1);
  return formatTable(
    headings,
    fixed.map((row) => [...row.slice(0, 4), ellipsis(plain(row[4] ?? ''), room)]),
    (cell, column, row) => {
      const status = rows[row]?.status;
      if (column !== 1) return cell;
      if (status === 'completed') return paint.green(cell);
      if (status === 'failed') return paint.red(cell);
      return status === 'running' || status === 'asking' ? paint.cyan(cell) : paint.dim(cell);
    },
  );
}

function cells({ id, status, attempt, elapsedMs, note }: StepRow): string[] {
  return [id, status, attempt, elapsedMs === undefined ? '' : seconds(elapsedMs), note];
}
