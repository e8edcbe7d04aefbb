import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineSplitter } from '../src/stdio/lines.js';
import { idOfDiscarded } from '../src/stdio/discarded.js';
import { readLine } from '../src/stdio/read-line.js';
import { createStderrTail } from '../src/stdio/stderr-tail.js';

function collect(chunks: readonly Buffer[], limit = 1_000): { lines: string[]; oversize: number[] } {
  const lines: string[] = [];
  const oversize: number[] = [];
  const splitter = createLineSplitter(
    { onLine: (line) => lines.push(line.toString()), onOversize: (_prefix, _suffix, bytes) => oversize.push(bytes) },
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

  it('keeps both ends of a discarded line, under every chunking', () => {
    const line = `${'a'.repeat(5_000)}${'b'.repeat(5_000)}`;
    for (const size of [1, 13, 4_096, 20_000]) {
      const ends: string[] = [];
      const splitter = createLineSplitter(
        {
          onLine: () => undefined,
          onOversize: (...[prefix, suffix]) => ends.push(prefix.toString(), suffix.toString()),
        },
        100,
      );
      for (let at = 0; at < line.length; at += size) splitter.push(Buffer.from(line.slice(at, at + size)));
      splitter.push(Buffer.from('\n'));
      // What is known of the beginning is at least what was kept up to the limit.
      expect('a'.repeat(4_096).startsWith(ends[0] ?? '')).toBe(true);
      expect(ends[0]?.length).toBeGreaterThan(100);
      expect(ends[1]).toBe('b'.repeat(4_096));
    }
  });

  it.each([
    ['at the beginning', '{"jsonrpc":"2.0","id": 42,"result":"xxx', 'xxx"}', '42'],
    ['at the beginning, a string', '{"id":"a\\"b","result":', '"}', '"a\\"b"'],
    ['at the end', '{"result":{"content":[', ']},"jsonrpc":"2.0","id":7}', '7'],
    ['at the end, a string', '{"result":"', 'x" , "id" : "p7" } ', '"p7"'],
    ['only deeper inside', '{"jsonrpc":"2.0","result":{"id":3,"x":[{"id":4}],"y":"', '"}}', undefined],
    ['only within a string', '{"jsonrpc":"2.0","result":"{\\"id\\":3,', ' \\"id\\":5}"}', undefined],
    ['as the id of a request of the server', '{"jsonrpc":"2.0","id":3,"method":"x","params":"', '"}', undefined],
    ['behind the method of a request', '{"method":"x","params":{"t":"', '"},"id":3}', undefined],
    ['nowhere', '{"result":"', 'x"}', undefined],
  ])('finds the id of a discarded answer %s', (_, prefix, suffix, expected) => {
    expect(idOfDiscarded(Buffer.from(prefix), Buffer.from(suffix))).toBe(expected);
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

  it('keeps its message when it holds bytes that are no UTF-8', () => {
    const line = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"text":"caf\u00e9"}}', 'latin1');
    const [message] = readLine(line).messages;
    expect(message?.json()).toEqual({ jsonrpc: '2.0', id: 1, result: { text: 'caf\uFFFD' } });
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
