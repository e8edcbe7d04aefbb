// The durable store: every step committed before its dependents start, against the bare pair of statements.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine } from '../../packages/workflow-dag/dist/index.js';
import { openSqliteStore } from '../../packages/workflow-dag/dist/sqlite.js';
import { median } from './lib/stats.mjs';
import { definitionOf } from './workflow/graphs.mjs';

const Database = createRequire(new URL('../../packages/workflow-dag/package.json', import.meta.url))('better-sqlite3');
const STEPS = 200;
const RUNS_AT_ONCE = 50;
/** About 350 bytes of JSON. */
const OUTPUT = { value: 'x'.repeat(336) };

/** An update and an insert in one transaction, prepared once. */
function barePair(file) {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('create table run (id text primary key, step text, version integer)');
  db.exec('create table step (run text, id text, output text, primary key (run, id))');
  db.prepare('insert into run values (?, ?, 0)').run('run', '');
  const update = db.prepare('update run set step = ?, version = version + 1 where id = ?');
  const insert = db.prepare('insert into step values (?, ?, ?)');
  let count = 0;
  const pair = db.transaction((id, output) => {
    update.run(id, 'run');
    insert.run('run', id, output);
  });
  return {
    measure(pairs) {
      const started = performance.now();
      for (let index = 0; index < pairs; index += 1) pair(`s${(count += 1)}`, JSON.stringify(OUTPUT));
      return ((performance.now() - started) * 1000) / pairs;
    },
    close: () => db.close(),
  };
}

async function measureRuns(engine, definition, runs) {
  const started = performance.now();
  const all = await Promise.all(Array.from({ length: runs }, () => engine.run(definition)));
  for (const { status } of await Promise.all(all.map((run) => run.result))) {
    if (status !== 'completed') throw new Error(`a run ended as ${status}`);
  }
  return ((performance.now() - started) * 1000) / (runs * definition.steps.length);
}

/** One chain at a time, then many chains at once, in turns with the bare pair. */
export async function run(report, { reps = 7 }) {
  const folder = mkdtempSync(join(tmpdir(), 'thv-bench-store-'));
  const bare = barePair(join(folder, 'bare.db'));
  const store = await openSqliteStore(join(folder, 'store.db'));
  const tools = { resolve: () => ({ name: 'tool' }), call: async () => ({ structuredContent: OUTPUT }) };
  const engine = createEngine({
    tools,
    store,
    validation: false,
    limits: { maxSteps: STEPS, maxRunsPerPrincipal: 1000 },
  });
  const chain = definitionOf(Array.from({ length: STEPS }, (_, index) => (index === 0 ? [] : [index - 1])));
  const samples = { bare: [], chain: [], load: [] };
  try {
    for (let rep = 0; rep < reps + 1; rep += 1) {
      const sample = {
        bare: bare.measure(STEPS),
        chain: await measureRuns(engine, chain, 1),
        load: await measureRuns(engine, chain, RUNS_AT_ONCE),
      };
      // The first round is for the compiler and the first pages of the files.
      if (rep === 0) continue;
      for (const [key, us] of Object.entries(sample)) samples[key].push(us);
      report.sample({ rep, ...sample });
    }
  } finally {
    await engine.close();
    await store.close();
    bare.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const [reference, one, many] = [median(samples.bare), median(samples.chain), median(samples.load)];
  report.figure({ name: 'one-run', unit: 'us', ours: one, reference, atMost: 1.3 });
  report.figure({ name: `${RUNS_AT_ONCE}-runs`, unit: 'us', ours: many, reference, atMost: 1.3 });
  report.table('durable steps a second, synchronous=FULL', [
    { what: 'bare pair', 'per second': 1e6 / reference },
    { what: 'one run', 'per second': 1e6 / one },
    { what: `${RUNS_AT_ONCE} runs at once`, 'per second': 1e6 / many },
  ]);
}
