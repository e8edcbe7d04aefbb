import { sleep } from '../lib/child.mjs';
import { cpuNanoseconds, watchOthers } from '../lib/proc.mjs';
import { median } from '../lib/stats.mjs';
import { startGenerator } from '../proxy/generator.mjs';
import { parsingBackends, startTarget } from '../proxy/targets.mjs';

/** Clients of an era in front of a server of an era, each pair behind a `thv run` of its own. */
const pairs = [
  { pair: 'legacy-legacy', era: 'legacy', server: parsingBackends.legacy },
  { pair: 'modern-modern', era: 'modern', server: parsingBackends.modern },
  { pair: 'modern-legacy', era: 'modern', server: parsingBackends.legacy },
];
const cells = [
  { connections: 16, kind: 'string', bytes: 100, label: '100B/16' },
  { connections: 64, kind: 'string', bytes: 100, label: '100B/64' },
  { connections: 16, kind: 'string', bytes: 2000, label: '2KB/16' },
];

/** Calls of both eras with as many bytes in every body, in turns. */
export async function measureEdges(report, reps, ms) {
  const running = [];
  const samples = [];
  try {
    for (const { pair, era, server } of pairs) {
      const target = await startTarget('thv', server);
      const one = { pair, era, target, generator: startGenerator(target.url) };
      running.push(one);
      for (const cell of cells) await measureCell(one, cell, 1000);
    }
    await sleep(200);
    for (let rep = 0; rep < reps; rep += 1) {
      for (const cell of cells) {
        // Each goes first every other time.
        for (const one of rep % 2 === 0 ? running : running.toReversed()) {
          const sample = await measureCell(one, cell, ms);
          if (sample.wrong > 0) throw new Error(`${sample.wrong} wrong answers (${one.pair}): ${sample.example}`);
          samples.push({ what: 'edge', rep, cell: cell.label, pair: one.pair, ...sample });
          report.sample(samples.at(-1));
        }
      }
    }
  } finally {
    for (const { generator, target } of running) {
      await generator.stop();
      await target.stop();
    }
  }
  judge(report, samples);
}

async function measureCell({ target, generator, era }, cell, ms) {
  target.preferAll();
  const pids = target.proxies();
  const cpuOf = () => pids.map(cpuNanoseconds).reduce((sum, value) => sum + value, 0);
  const othersShare = watchOthers();
  const before = cpuOf();
  const measured = await generator.ask('measure', { ...cell, era, equalBodies: true, ms });
  return { ...measured, cpu: (cpuOf() - before) / 1000 / measured.requests, others: othersShare() };
}

function judge(report, samples) {
  const rows = [];
  for (const { label } of cells) {
    const all = (pair, key) => samples.filter((one) => one.cell === label && one.pair === pair).map((one) => one[key]);
    const of = (pair, key) => median(all(pair, key));
    // Whatever else the machine does only adds to it.
    const least = (pair) => Math.min(...all(pair, 'cpu'));
    for (const { pair } of pairs) {
      rows.push({
        cell: label,
        'client-server': pair,
        'least cpu µs': least(pair),
        'cpu µs': of(pair, 'cpu'),
        'req/s': of(pair, 'perSecond'),
        'p50 ms': of(pair, 'p50'),
        'others %': of(pair, 'others') * 100,
      });
    }
    const [ours, reference] = [least('modern-modern'), least('legacy-legacy')];
    report.figure({ name: `edge/${label}/cpu`, unit: 'us', ours, reference, atMost: 1.1 });
  }
  report.table('calls of both eras at equal bytes: medians', rows);
}
