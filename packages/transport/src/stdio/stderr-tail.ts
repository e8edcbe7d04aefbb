/** Keeps the end of a server's stderr, bounded by lines and bytes, and hands lines on. */
export interface StderrTail {
  push(chunk: Buffer): void;
  /** The last lines, oldest first. */
  lines(count: number): readonly string[];
}

const MAX_LINES = 200;
const MAX_BYTES = 64 * 1024;
const MAX_LINE = 8 * 1024;

/** Stderr is text for people: a broken character is replaced, a long line is cut. */
export function createStderrTail(onLine?: (line: string) => void): StderrTail {
  const decoder = new TextDecoder();
  let kept: string[] = [];
  let bytes = 0;
  let rest = '';

  function add(line: string): void {
    const cut = line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line;
    onLine?.(cut);
    kept.push(cut);
    bytes += cut.length;
    while (kept.length > MAX_LINES || (bytes > MAX_BYTES && kept.length > 1)) bytes -= kept.shift()?.length ?? 0;
  }

  return {
    push(chunk) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
      rest = (lines.pop() ?? '').slice(-MAX_LINE);
      for (const line of lines) add(line);
    },
    lines: (count) => (rest === '' ? kept : [...kept, rest]).slice(-count),
  };
}
