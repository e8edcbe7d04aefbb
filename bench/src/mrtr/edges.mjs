import { sleep } from '../lib/child.mjs';
import { cpuNanoseconds, watchOthers } from '../lib/proc.mjs';
import { median } from '../lib/stats.mjs';
import { startGenerator } from '../proxy/generator.mjs';
import { startTarget } from '../proxy/targets.mjs';

const eras = ['legacy', 'modern'];
const cells = [
  { connections: 16, kind: 'string', bytes: 100, label: '100B/16' },
  { connections: 64, kind: 'string', bytes: 100, label: '100B/64' },
  { connections: 16, kind: 'string', bytes: 2000, label: '2KB/16' },
];

/** Calls of both eras to one `thv run` with a Legacy server behind, with as many bytes in every body. */
export async function measureEdges(report, reps, ms) {
  const target = await startTarget('thv');
  const generator = startGenerator(target.url);
  const samples = [];
  try {
    for (const cell of cells) for (const era of eras) await measureCell({ target, generator }, cell, era, 1000);
    await sleep(200);
    for (let rep = 0; rep < reps; rep += 1) {
      for (const cell of cells) {
        // Each era goes first every other time.
        for (const era of rep % 2 === 0 ? eras : eras.toReversed()) {
          const sample = await measureCell({ target, generator }, cell, era, ms);
          if (sample.wrong > 0) throw new Error(`${sample.wrong} wrong answers (${era}): ${sample.example}`);
          samples.push({ what: 'edge', rep, cell: cell.label, era, ...sample });
          report.sample(samples.at(-1));
        }
      }
    }
  } finally {
    await generator.stop();
    await target.stop();
  }
  judge(report, samples);
}

async function measureCell({ target, generator }, cell, era, ms) {
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
    const of = (era, key) =>
      median(samples.filter((one) => one.cell === label && one.era === era).map((one) => one[key]));
    for (const era of eras) {
      rows.push({
        cell: label,
        era,
        'cpu µs': of(era, 'cpu'),
        'req/s': of(era, 'perSecond'),
        'p50 ms': of(era, 'p50'),
        'others %': of(era, 'others') * 100,
      });
    }
    const [ours, reference] = [of('modern', 'cpu'), of('legacy', 'cpu')];
    report.figure({ name: `edge/${label}/cpu`, unit: 'us', ours, reference, atMost: 1.1 });
  }
  report.table('calls of both eras at equal bytes: medians', rows);
}
