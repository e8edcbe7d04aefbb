// Runs the official MCP conformance suite: npm run conformance [-- --json FILE] [--direct] [--verbose]
// The suite and the Node that it needs are installed beside this file on first use.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { install } from './src/install.mjs';
import { clientCommand, startDirect, startThv } from './src/serve.mjs';
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
// They need what was just installed.
const { scoreClient, scoreServer } = await import('./src/score.mjs');
const reports = await runSets().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});

async function runSets() {
  const done = [];
  for (const set of sets) {
    if (set.role === 'client') {
      if (!values.direct) done.push(await scoreClient(set, clientCommand(set), { verbose: values.verbose }));
      continue;
    }
    if (values.direct && set.direct === undefined) continue;
    const server = values.direct ? await startDirect(set) : await startThv(set);
    try {
      done.push(await scoreServer(set, server.url, { verbose: values.verbose }));
    } finally {
      await server.close();
    }
  }
  return done;
}

for (const { revision, role, name, passed, total, leftOut, scenarios, problem } of reports) {
  for (const { name: scenario, scored, required, failures } of scenarios) {
    if (scored || required) for (const failure of failures) process.stderr.write(`FAILED ${scenario}: ${failure}\n`);
    else if (failures.length > 0) process.stderr.write(`not scored, ${failures.length} failing: ${scenario}\n`);
  }
  if (problem !== undefined) process.stderr.write(`${problem}\n`);
  const of = `conformance ${revision} ${role}`;
  const notes = [name, leftOut > 0 ? `${leftOut} left out` : undefined].filter((note) => note !== undefined);
  process.stdout.write(`${of} ${passed}/${total}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}\n`);
  for (const { name: scenario, required, failures } of scenarios) {
    if (required)
      process.stdout.write(`${of} ${scenario} ${failures.length === 0 ? 'passed' : 'failed'}, not scored\n`);
  }
}
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ direct: values.direct, sets: reports }, null, 2)}\n`);
const isPassed = ({ passed, total, problem, scenarios }) =>
  total > 0 &&
  passed === total &&
  problem === undefined &&
  scenarios.every(({ required, failures }) => required !== true || failures.length === 0);
process.exitCode = reports.length > 0 && reports.every(isPassed) ? 0 : 1;
