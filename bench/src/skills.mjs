// Packing and unpacking a skill of 1,000 files and 50 MB, and verifying stored signatures.
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packSkill, unpackSkill } from '../../packages/oci-skills/dist/index.js';
import { writeCorpus } from './skills/corpus.mjs';
import { packLimit, unpackLimit } from './skills/limit.mjs';
import { peers } from './skills/peers.mjs';
import { verifyStored } from './skills/signatures.mjs';

const BUNDLES = 100;

/** Processor milliseconds of the quickest of some rounds, taken in turns with the others. */
async function measure(tasks, reps) {
  const best = Object.fromEntries(Object.keys(tasks).map((name) => [name, Number.POSITIVE_INFINITY]));
  for (let round = 0; round < reps; round += 1) {
    for (const [name, { prepare, action }] of Object.entries(tasks)) {
      prepare?.();
      const before = process.cpuUsage();
      await action();
      const { user, system } = process.cpuUsage(before);
      best[name] = Math.min(best[name], (user + system) / 1_000);
    }
  }
  return best;
}

export async function run(report, { reps = 7 }) {
  const folder = mkdtempSync(join(tmpdir(), 'thv-bench-skills-'));
  try {
    const source = join(folder, 'my-skill');
    const files = writeCorpus(source);
    const target = join(folder, 'unpacked');
    const fresh = () => {
      rmSync(target, { recursive: true, force: true });
      mkdirSync(target);
    };
    const { layer } = await packSkill(source);
    const archive = join(folder, 'layer.tar.gz');
    writeFileSync(archive, layer.bytes);
    const packed = await measure(
      {
        ours: { action: () => packSkill(source) },
        limit: { action: () => packLimit(files) },
        ...Object.fromEntries(
          Object.entries(peers).map(([name, peer]) => [
            name,
            { action: () => peer.pack(files, source, join(folder, 'peer.tgz')) },
          ]),
        ),
      },
      reps,
    );
    const unpacked = await measure(
      {
        ours: {
          prepare: fresh,
          action: () => unpackSkill(layer.bytes, join(target, 'my-skill'), { digest: layer.digest }),
        },
        limit: { prepare: fresh, action: () => unpackLimit(layer.bytes, target) },
        ...Object.fromEntries(
          Object.entries(peers).map(([name, peer]) => [
            name,
            { prepare: fresh, action: () => peer.unpack(archive, target) },
          ]),
        ),
      },
      reps,
    );
    figures(report, 'pack', packed, 1.15);
    figures(report, 'unpack', unpacked, 1.4);
    fresh();
    const memory = Number(
      execFileSync(
        process.execPath,
        [fileURLToPath(new URL('skills/memory.mjs', import.meta.url)), source, join(target, 'my-skill')],
        { encoding: 'utf8' },
      ),
    );
    report.figure({ name: 'memory', unit: 'MB', ours: memory, atMost: 200, absolute: true });
    const verified = await verifyStored(BUNDLES, generateKeyPairSync('ec', { namedCurve: 'P-256' }));
    report.table(`${BUNDLES} stored signatures, ms of processor time`, [
      { 'verified with our library': verified.ours, 'bare signature checks': verified.bare },
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function figures(report, what, best, atMost) {
  report.table(`${what}: 1,000 files, 50 MB, ms of processor time`, [best]);
  report.figure({ name: `${what}/limit`, unit: 'ms', ours: best.ours, reference: best.limit, atMost });
  for (const peer of Object.keys(peers)) {
    report.figure({ name: `${what}/${peer}`, unit: 'ms', ours: best.ours, reference: best[peer], atMost: 1 });
  }
}
