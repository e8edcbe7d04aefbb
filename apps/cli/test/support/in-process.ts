import { PassThrough, Readable } from 'node:stream';
import { openTemporaryHome } from '@thv/doubles';
import { afterEach } from 'vitest';
import { runCli } from '../../src/cli.js';
import type { TerminalOutput } from '../../src/context.js';

const homes: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const home of homes.splice(0)) await home.close();
});

/** How a command line is run inside the test's own process. */
export interface InProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly isTty?: boolean;
  readonly columns?: number;
}

/** Runs command lines that start no server, without a process; all of them share one home. */
export async function openInProcess() {
  const home = await openTemporaryHome();
  homes.push(home);
  return async (args: readonly string[], { env = {}, input = '', isTty = false, columns = 100 }: InProcessOptions = {}) => {
    const stdout = collect(isTty, columns);
    const stderr = collect(isTty, columns);
    const code = await runCli({
      argv: args,
      env: { ...home.env, ...env },
      cwd: home.home,
      stdin: Readable.from(input === '' ? [] : [input]),
      stdout: stdout.stream,
      stderr: stderr.stream,
      signal: new AbortController().signal,
      self: ['/nowhere'],
    });
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  };
}

function collect(isTTY: boolean, columns: number) {
  const stream: TerminalOutput = Object.assign(new PassThrough(), { isTTY, columns });
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') };
}
