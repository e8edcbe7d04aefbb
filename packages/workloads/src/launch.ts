import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { Environment } from './environment.js';

/** What a supervisor says to the one that launched it, as one JSON line on its file descriptor 3. */
export type SupervisorReport =
  | { readonly kind: 'ready'; readonly url: string; readonly pid: number }
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly message: string;
      readonly stderrTail: readonly string[];
      readonly hint?: string;
    };

/** A supervisor on its way. */
export interface Launched {
  readonly pid: number;
  /** What it reports; `undefined` when it went away, or let go of the pipe, without a word. */
  readonly report: Promise<SupervisorReport | undefined>;
  /** Asks it to end, and waits until it let go of the pipe. */
  cancel(): Promise<void>;
}

/** Starts the detached process that runs `superviseWorkload`; a port, so that a test needs no process. */
export type Launcher = (name: string, options: { readonly logPath: string }) => Promise<Launched>;

/** Options of {@link createLauncher}. */
export interface LauncherOptions {
  /** The program and its arguments; the name of the workload is added. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Environment;
}

const maxReportBytes = 256 * 1024;

/** A launcher that starts a program in a session of its own, so that it outlives the terminal. */
export function createLauncher({ command, args, env }: LauncherOptions): Launcher {
  return async (name, { logPath }) => {
    mkdirSync(dirname(logPath), { recursive: true, mode: 0o700 });
    // What the process says while it dies (a stack trace, out of memory) belongs into its log.
    const log = openSync(logPath, 'a', 0o600);
    try {
      const child = spawn(command, [...args, name], {
        detached: true,
        stdio: ['ignore', 'ignore', log, 'pipe'],
        env: { ...env },
        windowsHide: true,
      });
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve);
        child.once('error', reject);
      });
      const pipe = child.stdio[3];
      if (child.pid === undefined || pipe === null || pipe === undefined || !('on' in pipe)) {
        throw new Error('The supervisor has no pipe to report on');
      }
      const report = readReport(pipe as NodeJS.ReadableStream & { destroy(): void });
      const { pid } = child;
      child.unref();
      return {
        pid,
        report,
        async cancel() {
          try {
            process.kill(pid, 'SIGTERM');
          } catch {
            // It is gone already.
          }
          await report;
        },
      };
    } finally {
      closeSync(log);
    }
  };
}

function readReport(pipe: NodeJS.ReadableStream & { destroy(): void }): Promise<SupervisorReport | undefined> {
  return new Promise((resolve) => {
    const decoder = new StringDecoder('utf8');
    let text = '';
    const finish = (): void => {
      pipe.destroy();
      resolve(parseReport(text));
    };
    pipe.on('data', (chunk: Buffer) => {
      text += decoder.write(chunk);
      if (text.includes('\n') || text.length > maxReportBytes) finish();
    });
    pipe.on('end', finish);
    pipe.on('error', finish);
  });
}

function parseReport(text: string): SupervisorReport | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('kind' in value)) return undefined;
    return value.kind === 'ready' || value.kind === 'failed' ? (value as SupervisorReport) : undefined;
  } catch {
    return undefined;
  }
}
