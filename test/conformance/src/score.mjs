import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root, suiteNode } from './install.mjs';

const suite = `${root}node_modules/@modelcontextprotocol/conformance`;
const LIMIT_MS = 600_000;

/** Runs a requirement set against a URL and counts the scored scenarios that passed. */
export async function score({ revision, role }, url, { verbose }) {
  const requirements = parse(readFileSync(`${suite}/requirements/${revision}.yaml`, 'utf8'));
  const required = requirements[role];
  const unscored = requirements.not_scored.filter(({ leg }) => leg === role).map(({ scenario }) => scenario);
  const results = mkdtempSync(join(tmpdir(), 'thv-conformance-results-'));
  try {
    const { code, text } = await runSuite(revision, role, url, results, verbose);
    const scenarios = [
      ...required.map((name) => ({ name, scored: true, ...outcome(results, role, name) })),
      ...unscored.map((name) => ({ name, scored: false, ...outcome(results, role, name) })),
    ];
    const passed = scenarios.filter(({ scored, failures }) => scored && failures.length === 0).length;
    const problem =
      code !== 0 && passed === required.length
        ? `The suite ended with exit code ${code} although every scored scenario passed:\n${text.slice(-2000)}`
        : undefined;
    return { revision, role, passed, total: required.length, scenarios, ...(problem === undefined ? {} : { problem }) };
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}

async function runSuite(revision, role, url, results, verbose) {
  const args = [`${suite}/dist/index.js`, role, '--url', url, '--requirements', revision, '--output-dir', results];
  const child = spawn(suiteNode(), args, { cwd: results, stdio: ['ignore', 'pipe', 'pipe'] });
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
function outcome(results, role, name) {
  const pattern = new RegExp(`^${role}-${name.replaceAll('/', '-')}-\\d{4}-\\d\\d-\\d\\dT`);
  const folder = readdirSync(results).find((entry) => pattern.test(entry));
  if (folder === undefined) return { checks: 0, failures: ['left no result'] };
  const checks = JSON.parse(readFileSync(join(results, folder, 'checks.json'), 'utf8'));
  const failures = checks
    .filter(({ status }) => status === 'FAILURE')
    .map(({ id, errorMessage, description }) => `${id}: ${errorMessage ?? description}`);
  const succeeded = checks.filter(({ status }) => status === 'SUCCESS').length;
  if (failures.length === 0 && succeeded === 0)
    failures.push(`passed no check (${checks.map(({ status }) => status).join(', ')})`);
  return { checks: succeeded, failures };
}
