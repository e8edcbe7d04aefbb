import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { descendants, isAlive, openTemporaryHome, until } from '../doubles/src/index.js';
import type { Command, ProcessRow } from '../doubles/src/index.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A `thv run --foreground` of a test. */
export interface RunningThv {
  readonly url: string;
  /** The process that listens. */
  readonly pid: number;
  /** The server processes behind it that run now. */
  backends(): ProcessRow[];
  /** What it has written to stderr so far. */
  stderr(): string;
  /** Ends it as Ctrl-C does, waits until nothing of it lives, and answers its exit code. */
  close(): Promise<number | null>;
}

/**
 * Starts a server behind `thv run --foreground` in an empty home folder, always from the sources: what a build left
 * behind may be older.
 */
export async function runThv(
  command: Command,
  options: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningThv> {
  const home = await openTemporaryHome();
  // Beside the servers there are helpers: the watchdog, and the compiler of the sources.
  const marker = command.args.find((argument) => /\.m?js\b/.test(argument)) ?? command.command;
  const program = ['--conditions=@thv/source', '--import', 'tsx', 'apps/cli/src/main.ts'];
  const args = ['run', '--foreground', '--name', 'e2e', ...options, '--', command.command, ...command.args];
  const child = spawn(process.execPath, [...program, ...args], {
    cwd: root,
    env: { ...home.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid ?? 0;
  const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));

  async function close(): Promise<number | null> {
    const below = descendants(pid);
    child.kill('SIGINT');
    const [code] = await exited;
    await until('every process of the server is gone', () => below.every((found) => !isAlive(found.pid)), {
      timeoutMs: 20_000,
    });
    await home.close();
    return code;
  }

  try {
    await until('thv prints its URL', () => stdout.includes('\n') || child.exitCode !== null, { timeoutMs: 45_000 });
  } catch (error) {
    await close();
    throw new Error(`${String(error)}\n${stderr}`, { cause: error });
  }
  if (child.exitCode !== null) {
    await home.close();
    throw new Error(`thv run ended with exit code ${child.exitCode}:\n${stderr}`);
  }
  return {
    url: stdout.trim(),
    pid,
    backends: () => descendants(pid).filter((found) => found.command.includes(marker)),
    stderr: () => stderr,
    close,
  };
}
