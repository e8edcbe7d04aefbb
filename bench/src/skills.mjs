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

/** Milliseconds of the quickest of some rounds, taken in turns with the others: on the wall, and of the processors. */
async function measure(tasks, reps) {
  const best = { wall: {}, cpu: {} };
  const keep = (kind, name, value) => {
    best[kind][name] = Math.min(best[kind][name] ?? Number.POSITIVE_INFINITY, value);
  };
  for (let round = 0; round < reps; round += 1) {
    for (const [name, { prepare, action }] of Object.entries(tasks)) {
      prepare?.();
      const before = process.cpuUsage();
      const started = performance.now();
      await action();
      keep('wall', name, performance.now() - started);
      const { user, system } = process.cpuUsage(before);
      keep('cpu', name, (user + system) / 1_000);
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

function figures(report, what, { wall, cpu }, atMost) {
  report.table(`${what}: 1,000 files, 50 MB, ms`, [
    { time: 'wall', ...wall },
    { time: 'processors', ...cpu },
  ]);
  report.figure({ name: `${what}/limit`, unit: 'ms', ours: wall.ours, reference: wall.limit, atMost });
  for (const peer of Object.keys(peers)) {
    report.figure({ name: `${what}/${peer}`, unit: 'ms', ours: wall.ours, reference: wall[peer], atMost: 1 });
  }
}
