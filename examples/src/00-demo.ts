// The main job in one minute: a stdio server behind thv, two official clients at once, everything gone afterwards.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const thv = fileURLToPath(new URL('../../apps/cli/bin/thv.js', import.meta.url));
const server = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
const home = mkdtempSync(join(tmpdir(), 'thv-demo-'));
const env = {
  ...process.env,
  HOME: home,
  XDG_CONFIG_HOME: join(home, 'config'),
  XDG_DATA_HOME: join(home, 'data'),
  XDG_STATE_HOME: join(home, 'state'),
};

async function run(...args: string[]): Promise<string> {
  console.log(`\n$ thv ${args.join(' ').replace(server, 'server-everything')}`);
  const { stdout } = await promisify(execFile)(process.execPath, [thv, ...args], { env });
  process.stdout.write(stdout);
  return stdout.trim();
}

async function connect(url: string, name: string): Promise<Client> {
  const client = new Client({ name, version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

try {
  const url = await run('run', '--name', 'demo', '--', process.execPath, server, 'stdio');
  await run('list');

  const [alice, bob] = await Promise.all([connect(url, 'alice'), connect(url, 'bob')]);
  const { tools } = await alice.listTools();
  console.log(
    `\nTwo clients share one server process; it has ${tools.length} tools: ${tools[0]?.name}, ${tools[1]?.name}, …`,
  );

  const answers = await Promise.all(
    [alice, bob].map((client, index) =>
      client.callTool({ name: 'echo', arguments: { message: `hello from ${index === 0 ? 'alice' : 'bob'}` } }),
    ),
  );
  const texts = answers.map((answer) => JSON.stringify(answer.content));
  console.log(`alice called echo and got ${texts[0]}`);
  console.log(`bob   called echo and got ${texts[1]}`);
  assert.match(texts[0] ?? '', /hello from alice/);
  assert.match(texts[1] ?? '', /hello from bob/);
  await Promise.all([alice.close(), bob.close()]);

  await run('stop', 'demo');
  await assert.rejects(fetch(url), 'the endpoint is gone after stop');
  console.log('\nThe endpoint is closed and the server process is gone.');
} finally {
  await promisify(execFile)(process.execPath, [thv, 'rm', 'demo'], { env }).catch(() => undefined);
  rmSync(home, { recursive: true, force: true });
}
