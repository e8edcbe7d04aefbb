// Runs one benchmark: npm run bench -- NAME [--json FILE] [--reps N] [--ms N]
import { writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { benchmarks } from './src/index.mjs';
import { installPeers } from './src/lib/install.mjs';
import { createReport } from './src/lib/report.mjs';

const usage = `npm run bench -- NAME [--json FILE] [--reps N] [--ms N]

${Object.entries(benchmarks)
  .map(([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`)
  .join('\n')}

  --json FILE  writes every figure and every sample
  --reps N     rounds; the figures are medians over them (default: the benchmark's own)
  --ms N       milliseconds of each measurement (default: the benchmark's own)
`;

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        json: { type: 'string' },
        reps: { type: 'string' },
        ms: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    fail(error.message);
  }
}

function fail(message) {
  process.stderr.write(`${message}\n\n${usage}`);
  process.exit(1);
}

function count(name, text, most) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > most) {
    fail(`Expected --${name} to be an integer from 1 to ${most}, got ${JSON.stringify(text)}`);
  }
  return value;
}

const { values, positionals } = readArguments();
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const [name] = positionals;
if (positionals.length !== 1 || !Object.hasOwn(benchmarks, name)) {
  fail(name === undefined ? 'Which benchmark?' : `There is no benchmark ${JSON.stringify(positionals.join(' '))}`);
}

const options = { reps: count('reps', values.reps, 100), ms: count('ms', values.ms, 60_000) };
const { peers, load } = benchmarks[name];
if (peers) installPeers();
const report = createReport(name);
const started = Date.now();
try {
  await (await load()).run(report, options);
} catch (error) {
  report.problem(error);
}
if (values.json !== undefined) {
  const machine = {
    node: process.version,
    cpus: cpus().length,
    model: cpus()[0]?.model,
    memory: totalmem(),
    load: loadavg(),
  };
  const body = {
    name,
    date: new Date(started).toISOString(),
    seconds: (Date.now() - started) / 1000,
    machine,
    ...report.toJSON(),
  };
  writeFileSync(values.json, `${JSON.stringify(body, null, 2)}\n`);
}
process.exit(report.isPassed() ? 0 : 1);
