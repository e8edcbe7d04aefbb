import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, pinned, prefer, startServer } from '../lib/child.mjs';
import { root } from '../lib/install.mjs';
import { tree } from '../lib/proc.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const backend = pinned(1, [process.execPath, here('./backend.mjs')]);
/** The same server without its short cut, and as one of 2026-07-28: both parse what they get. */
export const parsingBackends = { legacy: [...backend, 'legacy'], modern: [...backend, 'modern'] };
const node = process.execPath;
const modules = `${root}node_modules`;

/** What is compared: how each is started on a port. All share the same server behind, on the other processor. */
export const targets = {
  thv: (port, server = backend) => [
    node,
    fileURLToPath(new URL('../../../apps/cli/bin/thv.js', import.meta.url)),
    'run',
    '--foreground',
    '--name',
    'bench',
    '--proxy-port',
    String(port),
    '--',
    ...server,
  ],
  reference: (port) => [node, here('./reference.mjs'), String(port), ...backend],
  'mcp-proxy': (port) => [
    node,
    `${modules}/mcp-proxy/dist/bin/mcp-proxy.mjs`,
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--server',
    'stream',
    '--',
    ...backend,
  ],
  supergateway: (port) => [
    node,
    '--import',
    new URL('../lib/loopback.mjs', import.meta.url).href,
    `${modules}/supergateway/dist/index.js`,
    '--stdio',
    backend.join(' '),
    '--outputTransport',
    'streamableHttp',
    '--stateful',
    '--port',
    String(port),
    '--logLevel',
    'none',
  ],
};

/** Starts a target on the first processor, in an empty home folder. */
export async function startTarget(name, backendCommand) {
  const port = await freePort();
  const home = mkdtempSync(join(tmpdir(), 'thv-bench-'));
  const env = { ...process.env, HOME: home };
  for (const kind of ['CONFIG', 'DATA', 'STATE', 'CACHE']) env[`XDG_${kind}_HOME`] = join(home, kind.toLowerCase());
  const server = await startServer(pinned(0, targets[name](port, backendCommand)), port, { env });
  const members = () =>
    tree(server.pid).map((member) => ({ ...member, isBackend: member.command.includes('backend.mjs') }));
  return {
    name,
    startMs: server.startMs,
    url: `http://127.0.0.1:${port}/mcp`,
    /** A target may put its servers into groups of their own, which would not be preferred otherwise. */
    preferAll() {
      for (const { pid } of members()) prefer(pid);
    },
    /** The processes of the proxy: everything that it started, without the servers behind it. */
    proxies: () =>
      members()
        .filter(({ pid, isBackend }) => pid === server.pid || !isBackend)
        .map(({ pid }) => pid),
    /** How many servers behind it run. */
    backends: () =>
      members().filter(({ pid, isBackend, command }) => pid !== server.pid && isBackend && command.startsWith(node))
        .length,
    async stop() {
      await server.stop();
      rmSync(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
