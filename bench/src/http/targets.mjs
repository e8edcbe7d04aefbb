import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, pinned, prefer, startServer } from '../lib/child.mjs';
import { tree } from '../lib/proc.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const node = process.execPath;
const thv = fileURLToPath(new URL('../../../apps/cli/bin/thv.js', import.meta.url));
const peer = (name) => (port, target) => [node, here('./peer.mjs'), name, String(port), target];

/** What is compared: how each is started on a port, in front of a target. */
const commands = {
  thv: (port, target) => [node, thv, 'proxy', 'bench', '--target-uri', target, '--port', String(port)],
  reference: (port, target) => [node, here('./reference.mjs'), String(port), target],
  'http-proxy-3': peer('http-proxy-3'),
  httpxy: peer('httpxy'),
};

/** The names of what can be compared here; nginx where it is installed. */
export const names = [
  'direct',
  ...Object.keys(commands),
  ...(spawnSync('nginx', ['-v'], { stdio: 'ignore' }).status === 0 ? ['nginx'] : []),
];

/** Starts the server behind all of them on the second processor. */
export async function startBackend() {
  const port = await freePort();
  const server = await startServer(pinned(1, [node, here('./backend.mjs'), String(port)]), port);
  return { origin: `http://127.0.0.1:${port}`, pid: server.pid, stop: server.stop };
}

/** Starts a target on the first processor, in an empty home folder; `direct` is the server itself. */
export async function startTarget(name, backend) {
  if (name === 'direct') {
    return {
      name,
      url: `${backend.origin}/mcp`,
      pids: () => [backend.pid],
      preferAll() {},
      stop: async () => undefined,
    };
  }
  const port = await freePort();
  const home = mkdtempSync(join(tmpdir(), 'thv-bench-'));
  const env = { ...process.env, HOME: home };
  for (const kind of ['CONFIG', 'DATA', 'STATE', 'CACHE']) env[`XDG_${kind}_HOME`] = join(home, kind.toLowerCase());
  const command = name === 'nginx' ? nginx(home, port, backend.origin) : commands[name](port, backend.origin);
  const server = await startServer(pinned(0, command), port, { env });
  const pids = () => tree(server.pid).map(({ pid }) => pid);
  return {
    name,
    url: `http://127.0.0.1:${port}/mcp`,
    pids,
    preferAll: () => pids().forEach(prefer),
    async stop() {
      await server.stop();
      rmSync(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

function nginx(home, port, origin) {
  const file = join(home, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${home}/${kind};`)
    .join('\n');
  writeFileSync(
    file,
    `daemon off; worker_processes 1; pid ${home}/nginx.pid; error_log stderr crit;
events { worker_connections 4096; }
http { access_log off; client_max_body_size 16m; keepalive_requests 10000000; ${temporary}
upstream backend { server ${new URL(origin).host}; keepalive 64; keepalive_requests 10000000; }
server { listen 127.0.0.1:${port};
location / { proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }
`,
  );
  return ['nginx', '-c', file, '-p', home];
}
