import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root, suiteNode } from './install.mjs';

const suite = `${root}node_modules/@modelcontextprotocol/conformance`;
const LIMIT_MS = 600_000;

/** What a revision requires of a role, and what the suite runs besides without scoring it. */
function requirementsOf({ revision, role, only, except = {}, also = [] }) {
  const requirements = parse(readFileSync(`${suite}/requirements/${revision}.yaml`, 'utf8'));
  const required = requirements[role];
  for (const name of [...(only ?? []), ...Object.keys(except)]) {
    if (!required.includes(name)) throw new Error(`The set ${revision} ${role} does not score ${JSON.stringify(name)}`);
  }
  const scored = (only ?? required).filter((name) => !Object.hasOwn(except, name));
  const unscored = requirements.not_scored.filter(({ leg }) => leg === role).map(({ scenario }) => scenario);
  for (const name of also) {
    if (!unscored.includes(name)) throw new Error(`The set ${revision} ${role} does not run ${JSON.stringify(name)}`);
  }
  return { scored, unscored: only === undefined ? unscored : also, leftOut: required.length - scored.length };
}

/** Runs a requirement set against a server and counts the scored scenarios that passed. */
export async function scoreServer(set, url, { verbose }) {
  const { revision } = set;
  return score(set, (results) => [
    runSuite(['server', '--url', url, '--requirements', revision, '--output-dir', results], results, verbose),
  ]);
}

/** Runs the scenarios of a set against a client, each with a client of its own; `command` is given the URL. */
export async function scoreClient(set, command, { verbose }) {
  const { scored, unscored } = requirementsOf(set);
  return score(set, (results) =>
    [...scored, ...unscored].map((name) => {
      const scenario = ['--scenario', name, '--spec-version', set.revision];
      return runSuite(['client', '--command', command, ...scenario, '--output-dir', results], results, verbose);
    }),
  );
}

async function score(set, runs) {
  const { revision, role, name, also = [], exceptChecks = {} } = set;
  const { scored, unscored, leftOut } = requirementsOf(set);
  const results = mkdtempSync(join(tmpdir(), 'thv-conformance-results-'));
  try {
    const ends = await Promise.all(runs(results));
    const scenarios = [
      ...scored.map((scenario) => ({
        name: scenario,
        scored: true,
        ...outcome(results, role, scenario, exceptChecks[scenario]),
      })),
      ...unscored.map((scenario) => ({
        name: scenario,
        scored: false,
        required: also.includes(scenario),
        ...outcome(results, role, scenario),
      })),
    ];
    const passed = scenarios.filter((scenario) => scenario.scored && scenario.failures.length === 0).length;
    const failed = ends.find(({ code }) => code !== 0);
    const problem =
      failed !== undefined && passed === scored.length && leftOut === 0 && Object.keys(exceptChecks).length === 0
        ? `The suite ended with exit code ${failed.code} although every scored scenario passed:\n${failed.text.slice(-2000)}`
        : undefined;
    const report = { revision, role, name, passed, total: scored.length, leftOut, scenarios };
    return problem === undefined ? report : { ...report, problem };
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}

async function runSuite(args, cwd, verbose) {
  const child = spawn(suiteNode(), [`${suite}/dist/index.js`, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said.push(chunk);
      if (verbose) process.stderr.write(chunk);
    });
  }
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const [code, signal] = await once(child, 'close');
  clearTimeout(timer);
  return { code: code ?? signal, text: Buffer.concat(said).toString('utf8') };
}

/** What the checks of one scenario say; a scenario without a passed check has not been run, which is a failure. */
function outcome(results, role, name, left = []) {
  // The suite puts the role into the names of the results of servers alone.
  const prefix = role === 'server' ? 'server-' : '(?:client-)?';
  const pattern = new RegExp(`^${prefix}${name.replaceAll('/', '-')}-\\d{4}-\\d\\d-\\d\\dT`);
  const folder = readdirSync(results).find((entry) => pattern.test(entry));
  if (folder === undefined) return { checks: 0, failures: ['left no result'] };
  const checks = JSON.parse(readFileSync(join(results, folder, 'checks.json'), 'utf8'));
  const failures = checks
    .filter(({ status, id }) => status === 'FAILURE' && !left.includes(id))
    .map(({ id, errorMessage, description }) => `${id}: ${errorMessage ?? description}`);
  const succeeded = checks.filter(({ status }) => status === 'SUCCESS').length;
  if (failures.length === 0 && succeeded === 0)
    failures.push(`passed no check (${checks.map(({ status }) => status).join(', ')})`);
  return { checks: succeeded, failures };
}
