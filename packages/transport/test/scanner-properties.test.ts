import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TransportError, parseMessage, spliceMessage } from '../src/index.js';
import type { Message } from '../src/index.js';

type Verdict = { readonly message: Message } | { readonly code: string };

function verdictOf(bytes: Buffer): Verdict {
  try {
    return { message: parseMessage(bytes) };
  } catch (error) {
    if (TransportError.is(error)) return { code: error.code };
    throw error;
  }
}

/** What `JSON.parse` says of the bytes; `undefined` when they are no JSON in UTF-8. */
function judge(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)) as unknown };
  } catch {
    return undefined;
  }
}

/** Text that parsers, splitters and printers are known to stumble over. */
const oddText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\u2028',
        '\u2029',
        '\u00A0',
        '\u3000',
        '\uFEFF',
        '\uFFFD',
        '\uE000',
        '👩‍👩‍👧',
        'ą€🙂漢',
        '"',
        '\\',
        '\n',
        '\r',
      ),
      fc.constantFrom('id', '"id":7', '\\u0069d', '}', ']', '{', 'x'.repeat(300), '\u0000', '\u007F', 'a', '/'),
      fc.string({ unit: 'grapheme', maxLength: 5 }),
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''));

/** JSON text that `JSON.stringify` never writes: big and odd numbers, escapes of any character, keys that stand twice. */
const { value: oddJson } = fc.letrec<{ value: string; text: string; member: string }>((tie) => ({
  text: fc.tuple(oddText, fc.nat(3)).map(([text, mode]) => spell(text, mode)),
  member: fc
    .tuple(fc.oneof(tie('text'), fc.constantFrom('"id"', '"method"', '"_meta"')), tie('value'))
    .map((pair) => pair.join(': ')),
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'odd' },
    tie('text'),
    fc.constantFrom(
      '0',
      '-0',
      '1e400',
      '1.50',
      '-2.0E+3',
      '123456789012345678901234567890',
      '9007199254740993',
      'true',
      'null',
      '{}',
      '[ ]',
    ),
    fc.array(tie('value'), { maxLength: 4, depthIdentifier: 'odd' }).map((items) => `[${items.join(' ,\t')}]`),
    fc.array(tie('member'), { maxLength: 4, depthIdentifier: 'odd' }).map((members) => `{${members.join(', ')}}`),
  ),
}));

/** The same string, written with more escapes the higher the mode. */
function spell(text: string, mode: number): string {
  const plain = JSON.stringify(text);
  if (mode === 0) return plain;
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  const escaped = units.map((unit, index) =>
    mode === 1 || index % mode === 0 || unit < 0x20 || unit === 0x22 || unit === 0x5c || (unit & 0xf800) === 0xd800
      ? `\\u${unit.toString(16).padStart(4, '0')}`
      : String.fromCharCode(unit),
  );
  return `"${escaped.join('')}"`;
}

/** A request with its members in any order, keys spelled in any way, and the places where it may be damaged. */
const request = fc
  .record({
    id: fc.oneof(
      fc.bigInt().map(String),
      oddText.map((text) => spell(text, 0)),
      oddText.map((text) => spell(text, 1)),
    ),
    token: fc.option(
      fc.oneof(
        fc.integer().map(String),
        oddText.map((text) => spell(text, 2)),
      ),
      { nil: undefined },
    ),
    argument: oddJson,
    order: fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5, maxLength: 5 }),
    spelling: fc.nat(3),
    space: fc.constantFrom('', ' ', '\t ', '\n', '\r\n  '),
  })
  .filter(({ id }) => id.length < 2_000)
  .map(({ id, token, argument, order, spelling, space }) => {
    const meta = token === undefined ? '' : `,"_meta":{"a":1,${spell('progressToken', spelling)}:${token}}`;
    const members = [
      `${spell('jsonrpc', spelling)}:"2.0"`,
      `${spell('id', spelling)}:${space}${id}`,
      `${spell('method', spelling)}:"tools/call"`,
      `${spell('params', spelling)}:{"name":"id","arguments":${argument}${meta}}`,
      `"x":${argument}`,
    ];
    const text = `{${space}${order.map((index) => members[index]).join(`${space},${space}`)}${space}}`;
    return { text, id, token };
  });

const value = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

describe('any request', () => {
  it('is read as JSON.parse reads it, on one line', () => {
    fc.assert(
      fc.property(request, ({ text, id, token }) => {
        const message = parseMessage(Buffer.from(text));
        expect(message).toMatchObject({ kind: 'request', idText: id, method: 'tools/call' });
        expect(message.progressTokenText).toBe(token);
        expect(message.json()).toEqual(value(text));
        expect(message.bytes.some((byte) => byte === 0x0a || byte === 0x0d)).toBe(false);
        if (!/[\r\n]/.test(text)) expect(message.bytes.toString()).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  it('differs in id and token alone when it is spliced, and comes back byte for byte', () => {
    fc.assert(
      fc.property(request, fc.boolean(), ({ text, id, token }, removes) => {
        const message = parseMessage(Buffer.from(text));
        const spliced = spliceMessage(message, { idText: '4711', progressTokenText: removes ? null : '"wire"' });
        const expected = value(text);
        expected['id'] = 4711;
        const meta = (expected['params'] as { _meta?: Record<string, unknown> })._meta;
        if (meta !== undefined && removes) delete meta['progressToken'];
        else if (meta !== undefined) meta['progressToken'] = 'wire';
        expect(value(spliced.bytes.toString())).toEqual(expected);
        if (removes && token !== undefined) return;
        const back = spliceMessage(spliced, {
          idText: id,
          ...(token === undefined ? {} : { progressTokenText: token }),
        });
        expect(back.bytes.equals(message.bytes)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is refused when a member of the envelope stands twice, however it is spelled', () => {
    const members = ['jsonrpc', 'id', 'method', 'params'];
    fc.assert(
      fc.property(request, fc.constantFrom(...members), fc.nat(3), fc.boolean(), ({ text }, name, mode, first) => {
        const member = `${spell(name, mode)}:1`;
        const twice = first ? `{${member},${text.slice(1)}` : `${text.slice(0, -1)},${member}}`;
        expect(verdictOf(Buffer.from(twice))).toEqual({ code: 'ERR_TRANSPORT_MESSAGE' });
      }),
    );
  });

  it('is judged as JSON.parse judges it when bytes of it are damaged', () => {
    const damage = fc.array(
      fc.record({ place: fc.nat(), removed: fc.nat(3), added: fc.uint8Array({ maxLength: 3 }) }),
      { minLength: 1, maxLength: 3 },
    );
    fc.assert(
      fc.property(request, damage, ({ text }, changes) => {
        let bytes = Buffer.from(text);
        for (const { place, removed, added } of changes) {
          const at = place % bytes.length;
          bytes = Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + removed)]);
          if (bytes.length === 0) return;
        }
        const judged = judge(bytes);
        const verdict = verdictOf(bytes);
        if (judged === undefined) expect(verdict).toEqual({ code: 'ERR_TRANSPORT_JSON' });
        else if ('message' in verdict) expect(verdict.message.json()).toEqual(judged.value);
        else expect(verdict.code).toBe('ERR_TRANSPORT_MESSAGE');
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('hostile size', () => {
  const around = (payload: string) => Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"x","params":${payload}}`);
  const size = 2 * 1024 * 1024;

  it.each([
    ['a backslash every 300 bytes', `"${`${'x'.repeat(300)}\\n`.repeat(size / 302)}"`],
    ['a quote every 300 bytes', `"${`${'x'.repeat(300)}\\"`.repeat(size / 302)}"`],
    ['strings of 300 bytes', `[${`"${'x'.repeat(300)}",`.repeat(size / 303)}0]`],
    ['nothing but escapes', `"${'\\u00e9'.repeat(size / 6)}"`],
    ['empty strings', `[${'"",'.repeat(size / 3)}0]`],
    ['line breaks', `[${'\n'.repeat(size)}]`],
    ['digits', '1'.repeat(size)],
    ['keys with escapes', `{${'"\\u0061":1,'.repeat(size / 11)}"b":1}`],
  ])('is read in one pass, not in minutes: %s', (_, payload) => {
    expect(parseMessage(around(payload)).idText).toBe('1');
  });

  it.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('refuses %s nested a hundred thousand deep', (_, open, close) => {
    const verdict = verdictOf(around(`${open.repeat(100_000)}0${close.repeat(100_000)}`));
    expect(verdict).toEqual({ code: 'ERR_TRANSPORT_JSON' });
  });
});
