import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hostileServer, openTemporaryHome } from '@thv/doubles';
import type { HostileScript, TemporaryHome } from '@thv/doubles';
import type { Finished } from './in-process.js';
import { runInProcess } from './in-process.js';

const program = fileURLToPath(new URL('../../bin/from-source.js', import.meta.url));
const require = createRequire(import.meta.url);

/** The repository's root, where `node_modules/.bin` is. */
export const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** Command line of a real server. */
export const everything: readonly string[] = [
  process.execPath,
  join(dirname(require.resolve('@modelcontextprotocol/server-everything/package.json')), 'dist/index.js'),
  'stdio',
];

/** Command line of a server that misbehaves as the script says. */
export function hostile(script: HostileScript = {}): readonly string[] {
  const { command, args } = hostileServer(script);
  return [command, ...args];
}

/** How a command is started. */
export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** The program with a home of its own. */
export interface Thv {
  readonly home: TemporaryHome;
  /** Runs a command to its end, in a process of its own. */
  exec(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** Runs a command to its end inside the test's process, which is much faster; its servers are real. */
  run(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** Runs a command that must succeed, and gives its stdout without the last line break. */
  ok(args: readonly string[], options?: RunOptions): Promise<string>;
  /** Runs a command that must succeed, with `--format json`, and gives the parsed output. */
  json<T>(args: readonly string[]): Promise<T>;
  /** Starts a command and lets it run. */
  start(args: readonly string[], options?: RunOptions): Running;
  /** Removes every server and the home. */
  close(): Promise<void>;
}

/** A command that runs. */
export interface Running {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  /** Resolves when stdout and stderr together contain the text. */
  says(text: string): Promise<void>;
}

export async function openThv(): Promise<Thv> {
  const home = await openTemporaryHome();
  const base = { ...home.env, NO_COLOR: '1', TZ: 'UTC' };

  function start(args: readonly string[], { input, env = {}, cwd = home.home }: RunOptions = {}): Running {
    // Node 20 takes `--env-file` for itself, wherever it stands, unless `--` comes before the program.
    const child = spawn(process.execPath, ['--', program, ...args], { cwd, env: { ...base, ...env } });
    const output = { stdout: '', stderr: '' };
    const waiting = new Set<() => void>();
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
        for (const check of waiting) check();
      });
    }
    child.stdin.on('error', () => undefined).end(input);
    const finished = once(child, 'close').then(([code]) => ({ code: code as number | null, ...output }));
    return {
      child,
      finished,
      says: async (text) =>
        new Promise((resolve, reject) => {
          const check = (): void => {
            if ((output.stdout + output.stderr).includes(text)) resolve();
          };
          waiting.add(check);
          check();
          void finished.then(() => reject(new Error(`It ended without "${text}": ${JSON.stringify(output)}`)));
        }),
    };
  }

  const exec = async (args: readonly string[], options?: RunOptions): Promise<Finished> =>
    start(args, options).finished;
  const run = async (args: readonly string[], options: RunOptions = {}): Promise<Finished> =>
    runInProcess({ args, cwd: home.home, ...options, env: { ...base, ...options.env }, self: ['--', program] });
  const ok = async (args: readonly string[], options?: RunOptions): Promise<string> => {
    const result = await run(args, options);
    if (result.code !== 0) throw new Error(`thv ${args.join(' ')} exited with ${result.code}\n${result.stderr}`);
    return result.stdout.trimEnd();
  };
  return {
    home,
    exec,
    run,
    ok,
    start,
    async json<T>(args: readonly string[]): Promise<T> {
      const dashes = args.indexOf('--');
      const own = dashes < 0 ? args : args.slice(0, dashes);
      return JSON.parse(await ok([...own, '--format', 'json', ...args.slice(own.length)])) as T;
    },
    async close() {
      await run(['rm', '--all']);
      await home.close();
    },
  };
}
