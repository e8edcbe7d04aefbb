import { PassThrough, Readable } from 'node:stream';
import { openTemporaryHome } from '@thv/doubles';
import { afterEach } from 'vitest';
import { runCli } from '../../src/cli.js';
import type { TerminalOutput } from '../../src/context.js';

/** What a finished command left. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line and the world it runs in. */
export interface InProcessCommand {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly self: readonly string[];
  readonly input?: string;
  readonly isTty?: boolean;
  readonly columns?: number;
  readonly signal?: AbortSignal;
}

/** Runs one command line inside this process. */
export async function runInProcess(command: InProcessCommand): Promise<Finished> {
  const { args, input = '', isTty = false, columns = 100, signal = new AbortController().signal } = command;
  const stdout = collect(isTty, columns);
  const stderr = collect(isTty, columns);
  const code = await runCli({
    argv: args,
    env: command.env,
    cwd: command.cwd,
    stdin: Object.assign(Readable.from(input === '' ? [] : [input]), { isTTY: isTty }),
    stdout: stdout.stream,
    stderr: stderr.stream,
    signal,
    self: command.self,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collect(isTTY: boolean, columns: number) {
  const stream: TerminalOutput = Object.assign(new PassThrough(), { isTTY, columns });
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') };
}

const homes: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const home of homes.splice(0)) await home.close();
});

/** Runs command lines that start no server; those of one test share a home. */
export async function openInProcess() {
  const home = await openTemporaryHome();
  homes.push(home);
  return async (
    args: readonly string[],
    { env = {}, ...options }: Partial<Omit<InProcessCommand, 'args' | 'cwd' | 'self'>> = {},
  ): Promise<Finished> =>
    runInProcess({ args, cwd: home.home, self: ['/nowhere'], ...options, env: { ...home.env, ...env } });
}
