// Runs the official MCP conformance suite: npm run conformance [-- --json FILE] [--direct] [--verbose]
// The suite and the Node that it needs are installed beside this file on first use.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { install } from './src/install.mjs';
import { startDirect, startThv } from './src/serve.mjs';
import { sets } from './src/sets.mjs';

const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    direct: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

if (values.help) {
  process.stdout.write(`npm run conformance -- [--json FILE] [--direct] [--verbose]

  --json FILE  writes every scenario with its failures
  --direct     serves the fixture with the SDK alone, without thv: tells a fault of the fixture from one of thv
  --verbose    prints what the suite prints
`);
  process.exit(0);
}

install();
// It needs what was just installed.
const { score } = await import('./src/score.mjs');
const reports = await runSets().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});

async function runSets() {
  const done = [];
  for (const set of sets) {
    const server = values.direct ? await startDirect(set) : await startThv(set);
    try {
      done.push(await score(set, server.url, { verbose: values.verbose }));
    } finally {
      await server.close();
    }
  }
  return done;
}

for (const { revision, role, passed, total, scenarios, problem } of reports) {
  for (const { name, scored, failures } of scenarios) {
    for (const failure of failures) {
      process.stderr.write(`${scored ? 'FAILED' : 'not scored, failing'} ${name}: ${failure}\n`);
    }
  }
  if (problem !== undefined) process.stderr.write(`${problem}\n`);
  process.stdout.write(`conformance ${revision} ${role} ${passed}/${total}\n`);
}
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ direct: values.direct, sets: reports }, null, 2)}\n`);
process.exitCode = reports.every(({ passed, total, problem }) => total > 0 && passed === total && problem === undefined)
  ? 0
  : 1;
