import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A real smart-HTTP git server on loopback: `git http-backend` behind a few lines of CGI. */
export interface GitServer {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  /** `Authorization` headers of all requests. */
  readonly authorizations: (string | undefined)[];
  /** Answers every request like this while it is set. */
  fault: { readonly status: number; readonly headers?: Record<string, string> } | undefined;
  /** A repository `owner/name` that can be changed. */
  repository(path: string): GitRepository;
  close(): Promise<void>;
}

/** One repository of the server. */
export interface GitRepository {
  /** Writes files and commits them; answers the commit. */
  commit(files: Readonly<Record<string, string | Buffer>>, message?: string): string;
  git(...args: string[]): string;
  readonly folder: string;
}

const identity = {
  GIT_AUTHOR_NAME: 'tester',
  GIT_AUTHOR_EMAIL: 'tester@example.test',
  GIT_COMMITTER_NAME: 'tester',
  GIT_COMMITTER_EMAIL: 'tester@example.test',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
};

export async function startGitServer(): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), 'thv-git-server-'));
  const state = { authorizations: [] as (string | undefined)[], fault: undefined as GitServer['fault'] };
  const server = createServer((request, response) => {
    state.authorizations.push(request.headers.authorization);
    if (state.fault) {
      response.writeHead(state.fault.status, state.fault.headers).end();
      return;
    }
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REMOTE_ADDR: '127.0.0.1',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    request.pipe(backend.stdin);
    backend.stdin.on('error', () => undefined);
    let head = Buffer.alloc(0);
    let started = false;
    backend.stdout.on('data', (chunk: Buffer) => {
      if (started) return void response.write(chunk);
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      started = true;
      const headers = Object.fromEntries(
        head
          .toString('latin1', 0, end)
          .split('\r\n')
          .map((line) => line.split(/: ?/, 2) as [string, string]),
      );
      const { Status: status = '200', ...rest } = headers;
      response.writeHead(Number.parseInt(status, 10), rest);
      response.write(head.subarray(end + 4));
    });
    backend.stdout.on('end', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    authorizations: state.authorizations,
    get fault() {
      return state.fault;
    },
    set fault(value) {
      state.fault = value;
    },
    repository: (path) => openRepository(root, path),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function openRepository(root: string, path: string): GitRepository {
  const bare = join(root, `${path}.git`);
  const folder = join(root, 'work', path);
  const run = (cwd: string, args: readonly string[]) =>
    execFileSync('git', [...args], {
      cwd,
      env: { PATH: process.env.PATH, HOME: root, ...identity },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  mkdirSync(bare, { recursive: true });
  mkdirSync(folder, { recursive: true });
  run(bare, ['init', '--quiet', '--bare', '--initial-branch=main']);
  run(folder, ['init', '--quiet', '--initial-branch=main']);
  run(folder, ['remote', 'add', 'origin', bare]);
  return {
    folder,
    git: (...args) => run(folder, args),
    commit(files, message = 'change') {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        writeFileSync(join(folder, name), content);
      }
      run(folder, ['add', '--all']);
      run(folder, ['commit', '--quiet', '--allow-empty', '-m', message]);
      run(folder, ['push', '--quiet', 'origin', 'HEAD', '--tags']);
      return run(folder, ['rev-parse', 'HEAD']);
    },
  };
}
