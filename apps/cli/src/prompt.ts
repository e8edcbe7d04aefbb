import type { CliContext } from './context.js';

const maxAnswerBytes = 64 * 1024;

/** Asks on stderr and reads one line from stdin; the end of the input is a no. */
export async function confirm(question: string, context: CliContext): Promise<boolean> {
  context.stderr.write(question);
  const answer = (await readLine(context)).trim().toLowerCase();
  if (context.stdin.isTTY !== true) context.stderr.write('\n');
  return answer === 'y' || answer === 'yes';
}

async function readLine({ stdin, signal }: CliContext): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const done = (): void => {
      stdin.off('data', onData).off('end', done).off('error', done).pause();
      signal.removeEventListener('abort', onAbort);
      resolve(text.split('\n')[0] ?? '');
    };
    const onData = (chunk: Buffer | string): void => {
      text += chunk.toString();
      if (text.includes('\n') || text.length > maxAnswerBytes) done();
    };
    const onAbort = (): void => {
      stdin.pause();
      reject(signal.reason as Error);
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    stdin.on('data', onData).on('end', done).on('error', done);
  });
}

/** Reads all of stdin, up to `maxBytes`. */
export async function readInput({ stdin, signal }: CliContext, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    signal.throwIfAborted();
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    size += bytes.length;
    if (size > maxBytes) throw new RangeError(`The input is larger than ${maxBytes} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}
