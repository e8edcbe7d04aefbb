import { round } from './stats.mjs';

/**
 * Collects figures and prints one line for each that has a target:
 * `bench NAME PASS|FAIL ours=… reference=… ratio=… target=…` on stdout. Everything else goes to stderr.
 */
export function createReport(name) {
  const figures = [];
  const samples = [];
  const problems = [];

  return {
    /**
     * A figure with a target: `atMost` or `atLeast`, of the ratio ours / reference unless `absolute` says of ours itself.
     * A figure that could not be measured fails.
     */
    figure({ name: part, unit = '', ours, reference, atMost, atLeast, absolute = false }) {
      const ratio = ours === undefined || reference === undefined ? undefined : ours / reference;
      const judged = absolute ? ours : ratio;
      const isMet =
        Number.isFinite(judged) &&
        (atMost === undefined || judged <= atMost) &&
        (atLeast === undefined || judged >= atLeast);
      const bound = atMost === undefined ? `>=${atLeast}` : `<=${atMost}`;
      const target = absolute ? `${bound}${unit}` : `${bound}x`;
      figures.push({ name: `${name}/${part}`, passed: isMet, unit, ours, reference, ratio, target });
      const show = (value) => (value === undefined ? '-' : `${round(value)}`);
      process.stdout.write(
        `bench ${name}/${part} ${isMet ? 'PASS' : 'FAIL'} ours=${show(ours)}${unit} ` +
          `reference=${show(reference)}${reference === undefined ? '' : unit} ratio=${show(ratio)} target=${target}\n`,
      );
    },
    /** One measurement, kept for the file. */
    sample(values) {
      samples.push(values);
    },
    /** A line for who is watching. */
    note(text) {
      process.stderr.write(`${text}\n`);
    },
    /** A table for who is watching; numbers are rounded. */
    table(title, rows) {
      const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      const cells = [columns, ...rows.map((row) => columns.map((key) => cell(row[key])))];
      const widths = columns.map((_key, index) => Math.max(...cells.map((line) => line[index].length)));
      const lines = cells.map((line) =>
        line
          .map((text, index) => text.padEnd(widths[index]))
          .join('  ')
          .trimEnd(),
      );
      process.stderr.write(`\n${title}\n${lines.join('\n')}\n`);
    },
    /** Something that kept a figure from being measured; fails the benchmark. */
    problem(error) {
      problems.push(String(error?.message ?? error));
      process.stderr.write(`${error?.stack ?? error}\n`);
    },
    isPassed: () => problems.length === 0 && figures.length > 0 && figures.every(({ passed }) => passed),
    toJSON: () => ({
      passed: problems.length === 0 && figures.every(({ passed }) => passed),
      figures,
      problems,
      samples,
    }),
  };
}

function cell(value) {
  if (value === undefined) return '-';
  return typeof value === 'number' ? String(round(value)) : String(value);
}
