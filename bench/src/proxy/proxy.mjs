import { sleep } from '../lib/child.mjs';
import { cpuNanoseconds, rssMegabytes, watchOthers } from '../lib/proc.mjs';
import { median } from '../lib/stats.mjs';
import { judge } from './figures.mjs';
import { startGenerator } from './generator.mjs';
import { startTarget, targets } from './targets.mjs';

/** In flight, and what is sent: a short text, a long text, or as many bytes of nested JSON. */
const cells = [1, 16, 64].flatMap((connections) => [
  { connections, kind: 'string', bytes: 100, label: `100B/${connections}` },
  { connections, kind: 'string', bytes: 100_000, label: `100KB-string/${connections}` },
  { connections, kind: 'nested', bytes: 100_000, label: `100KB-nested/${connections}` },
]);
const SESSIONS = 200;
/** It starts a process for every session, which is no comparison of proxies any more. */
const noSessions = new Set(['supergateway']);

/** Measures all targets in one run: starts, then the cells in turns, then new sessions. */
export async function run(report, { reps = 3, ms = 700 }) {
  const starts = await measureStarts(report, Math.max(3, reps));
  const running = [];
  try {
    for (const name of Object.keys(targets)) running.push(await warmUp(report, name));
    const rows = await measureCells(report, running, reps, ms);
    const sessions = await measureSessions(report, running, Math.max(3, reps));
    judge(report, { cells, rows, starts, sessions });
  } finally {
    for (const { generator, target } of running) {
      await generator.stop();
      await target.stop();
    }
  }
}

async function measureStarts(report, reps) {
  const starts = new Map(Object.keys(targets).map((name) => [name, { ms: [], rss: [] }]));
  for (let rep = 0; rep < reps; rep += 1) {
    for (const [name, found] of starts) {
      const target = await startTarget(name);
      await sleep(500);
      const rss = sum(target.proxies().map(rssMegabytes));
      found.ms.push(target.startMs);
      found.rss.push(rss);
      report.sample({ what: 'start', rep, target: name, ms: target.startMs, rss });
      await target.stop();
    }
  }
  const rows = [...starts].map(([name, { ms, rss }]) => ({ target: name, ms: median(ms), rss: median(rss) }));
  report.table('start: ms to listening, MB resident at rest', rows);
  return new Map(rows.map((row) => [row.target, row]));
}

async function warmUp(report, name) {
  const target = await startTarget(name);
  const generator = startGenerator(target.url);
  report.note(`warming up ${name}`);
  // Enough calls of each kind for the compiler to settle.
  for (const { kind, bytes } of cells.slice(0, 3))
    await generator.ask('measure', { connections: 16, kind, bytes, ms: 1000 });
  return { name, target, generator };
}

async function measureCells(report, running, reps, ms) {
  const samples = [];
  for (let rep = 0; rep < reps; rep += 1) {
    for (const cell of cells) {
      for (const one of running) {
        const sample = await measureInPeace(one, cell, ms);
        samples.push({ what: 'cell', rep, target: one.name, cell: cell.label, ...sample });
        report.sample(samples.at(-1));
      }
    }
  }
  const rows = cells.flatMap(({ label }) => running.map(({ name }) => medians(samples, label, name)));
  report.table('cells: medians', rows);
  for (const { cell, target, wrong, example } of samples) {
    if (wrong > 0) report.problem(new Error(`${target} gave ${wrong} wrong answers at ${cell}: ${example}`));
  }
  return rows;
}

/** Measures up to three times while other programs hold the processor, and keeps the quietest. */
async function measureInPeace(one, cell, ms) {
  let best = await measureCell(one, cell, ms);
  for (let attempt = 1; attempt < 3 && best.others > 0.3; attempt += 1) {
    const sample = await measureCell(one, cell, ms);
    if (sample.others < best.others) best = sample;
  }
  return best;
}

async function measureCell({ target, generator }, { connections, kind, bytes }, ms) {
  await generator.ask('measure', { connections, kind, bytes, ms: Math.min(200, ms) });
  target.preferAll();
  const pids = target.proxies();
  const othersShare = watchOthers();
  const before = sum(pids.map(cpuNanoseconds));
  const measured = await generator.ask('measure', { connections, kind, bytes, ms });
  const cpu = (sum(pids.map(cpuNanoseconds)) - before) / 1000 / measured.requests;
  return { ...measured, cpu, rss: sum(pids.map(rssMegabytes)), others: othersShare() };
}

function medians(samples, cell, target) {
  const own = samples.filter((sample) => sample.cell === cell && sample.target === target);
  const of = (key) => median(own.map((sample) => sample[key]));
  return {
    cell,
    target,
    'cpu µs': of('cpu'),
    'req/s': of('perSecond'),
    'p50 ms': of('p50'),
    'p99 ms': of('p99'),
    'rss MB': of('rss'),
    'others %': (of('others') ?? 0) * 100,
  };
}

async function measureSessions(report, running, reps) {
  const rows = [];
  for (const { name, target, generator } of running.filter((one) => !noSessions.has(one.name))) {
    const samples = [];
    for (let rep = 0; rep < reps; rep += 1) {
      const before = sum(target.proxies().map(rssMegabytes));
      const { ms, p50 } = await generator.ask('openSessions', { count: SESSIONS });
      await sleep(300);
      const after = sum(target.proxies().map(rssMegabytes));
      samples.push({ ms, p50, before, after, growth: after - before });
      report.sample({ what: 'sessions', rep, target: name, ...samples.at(-1) });
    }
    const of = (key) => median(samples.map((sample) => sample[key]));
    const measured = { ms: of('ms'), p50: of('p50'), before: samples[0].before, after: samples.at(-1).after };
    rows.push({ target: name, ...measured, growth: of('growth'), backends: target.backends() });
  }
  report.table(
    `${SESSIONS} new sessions, ${reps} times: ms in all, ms each, MB before and after, servers behind`,
    rows,
  );
  return new Map(rows.map((row) => [row.target, row]));
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
