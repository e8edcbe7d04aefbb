import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineSplitter } from '../src/stdio/lines.js';
import { idInPrefix, readLine } from '../src/stdio/read-line.js';
import { createStderrTail } from '../src/stdio/stderr-tail.js';

function collect(chunks: readonly Buffer[], limit = 1_000): { lines: string[]; oversize: number[] } {
  const lines: string[] = [];
  const oversize: number[] = [];
  const splitter = createLineSplitter(
    { onLine: (line) => lines.push(line.toString()), onOversize: (_, bytes) => oversize.push(bytes) },
    limit,
  );
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return { lines, oversize };
}

describe('framing', () => {
  it('gives the same lines for every chunking', () => {
    const text = fc.array(fc.constantFrom('ą€🙂漢', 'a', '\u2028', '\u0085', '', '\r', 'x'.repeat(50)), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(
        text,
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
        fc.boolean(),
        (parts, sizes, ends) => {
          const bytes = Buffer.from(parts.join('\n') + (ends ? '\n' : ''));
          const chunks: Buffer[] = [];
          for (let at = 0, index = 0; at < bytes.length; index += 1) {
            const size = sizes[index % sizes.length] ?? 1;
            chunks.push(bytes.subarray(at, at + size));
            at += size;
          }
          const expected = bytes.toString().split('\n');
          if (expected.at(-1) === '') expected.pop();
          expect(collect(chunks).lines).toEqual(expected);
        },
      ),
    );
  });

  it('discards a line above the limit to its end, and goes on', () => {
    const long = 'x'.repeat(1_500);
    for (const size of [1, 7, 999, 5_000]) {
      const bytes = Buffer.from(`a\n${long}\nb\n${'y'.repeat(1_000)}\n`);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(collect(chunks)).toEqual({ lines: ['a', 'b', 'y'.repeat(1_000)], oversize: [1_500] });
    }
  });

  it('finds the id in the beginning of a discarded line', () => {
    expect(idInPrefix(Buffer.from('{"jsonrpc":"2.0","id": 42,"result":"xxx'))).toBe('42');
    expect(idInPrefix(Buffer.from('{"id":"a\\"b","result":'))).toBe('"a\\"b"');
    expect(idInPrefix(Buffer.from('{"result":"'))).toBeUndefined();
  });
});

describe('a line of output', () => {
  const message = '{"jsonrpc":"2.0","method":"x","params":{"t":"\u00A0\u3000\u200D\uFFFD"}}';
  it.each([
    ['a message', message],
    ['a message with a carriage return', `${message}\r`],
    ['a message behind a byte order mark', `\uFEFF${message}`],
    ['a message behind a banner', `INFO started ${message}`],
    ['a message before a remark', `${message} done.`],
  ])('is %s, untouched', (_, line) => {
    expect(readLine(Buffer.from(line)).messages.map(({ bytes }) => bytes.toString())).toEqual([message]);
  });

  it.each(['hello', '{broken', 'a } b {', '{"jsonrpc":"1.0","method":"x"}', '[1,2]', '"x"'])('is noise: %s', (line) => {
    expect(readLine(Buffer.from(line)).messages).toEqual([]);
    expect(readLine(Buffer.from(line)).noise).toBeDefined();
  });

  it('is nothing when it is empty', () => {
    expect(readLine(Buffer.from(' \r'))).toEqual({ messages: [] });
  });

  it('may hold several messages in an array', () => {
    const { messages, noise } = readLine(Buffer.from(`[${message},{"jsonrpc":"2.0","id":1,"result":{}},7]`));
    expect(messages.map(({ kind }) => kind)).toEqual(['notification', 'response']);
    expect(noise).toMatch(/1 of 3/);
  });

  it('is cut when it is long noise', () => {
    expect(readLine(Buffer.from('n'.repeat(10_000))).noise).toHaveLength(512);
  });
});

describe('the tail of stderr', () => {
  it('keeps the last lines, also one that is not finished', () => {
    const seen: string[] = [];
    const tail = createStderrTail((line) => seen.push(line));
    for (let index = 0; index < 500; index += 1) tail.push(Buffer.from(`line ${index}\n`));
    tail.push(Buffer.from('unfini'));
    tail.push(Buffer.from('shed'));
    expect(tail.lines(3)).toEqual(['line 498', 'line 499', 'unfinished']);
    expect(tail.lines(1_000)).toHaveLength(201);
    expect(seen).toHaveLength(500);
  });

  it('is bounded in bytes', () => {
    const tail = createStderrTail();
    for (let index = 0; index < 100; index += 1) tail.push(Buffer.from(`${'x'.repeat(20_000)}\n`));
    expect(tail.lines(1_000).join('').length).toBeLessThan(80_000);
  });
});
