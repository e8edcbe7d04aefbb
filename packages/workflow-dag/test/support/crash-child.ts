// Starts or goes on with a batch of runs on one SQLite file until all are over, unless it is killed before.
import { appendFileSync } from 'node:fs';
import { createEngine, parseDefinition, type Run } from '../../src/index.js';
import { openSqliteStore } from '../../src/sqlite.js';
import { CRASH_WORKFLOW } from './crash-workflow.js';

const [database, log, count, most] = process.argv.slice(2) as [string, string, string, string];
const store = await openSqliteStore(database);
let calls = 0;
const engine = createEngine({
  store,
  scheduling: 'eager',
  limits: { maxRunsPerPrincipal: 1000, maxRecoveries: 1000 },
  tools: {
    resolve: (reference) => ({ name: reference, annotations: { idempotentHint: reference === 't.safe' } }),
    async call(call) {
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      // Where this process is to be killed, it must not be done before: the killer may be slow.
      if (calls >= Number(most)) await new Promise(() => undefined);
      // The tool's own counter: an appended line is there whatever becomes of this process.
      appendFileSync(log, `${call.runId} ${call.stepId} ${call.iteration ?? '-'} ${call.idempotencyKey}\n`);
      calls += 1;
      if (calls % 5 === 0) process.send?.(calls);
      return { structuredContent: { step: call.stepId, text: 'x'.repeat(50) } };
    },
  },
});
const runs: Run[] = [...(await engine.recover({ limit: 1000 }))];
if (runs.length === 0 && (await store.listRuns({ limit: 1 })).runs.length === 0) {
  const definition = parseDefinition(CRASH_WORKFLOW, { format: 'config' });
  for (let index = 0; index < Number(count); index += 1) runs.push(await engine.run(definition, { index }));
}
await Promise.all(runs.map((run) => run.result));
await engine.close();
await store.close();
process.disconnect?.();
