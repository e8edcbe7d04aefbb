import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createContext } from '../src/context.js';
import { CliError } from '../src/errors.js';
import { plain, printable } from '../src/output/safe-text.js';
import { ellipsis, formatFields, formatTable } from '../src/output/table.js';
import { localTime, timeAgo, uptime } from '../src/output/time.js';
import { reportError } from '../src/report.js';
import { closest, didYouMean, distance } from '../src/suggest.js';

function report(error: unknown, argv: readonly string[], signal = new AbortController().signal) {
  const stderr = new PassThrough();
  const chunks: Buffer[] = [];
  stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const stdin = Readable.from([]);
  const context = createContext({
    argv,
    env: {},
    cwd: '/',
    stdin,
    stdout: new PassThrough(),
    stderr,
    signal,
    self: [],
  });
  const code = reportError(error, context);
  return { code, stderr: Buffer.concat(chunks).toString('utf8') };
}

describe('an error that ends a command', () => {
  it.each([
    [new CliError('ERR_CLI_TARGETS', 'some failed', { exitCode: 3, hint: 'look' }), 3, 'ERR_CLI_TARGETS'],
    [new CliError('ERR_CLI_USAGE', 'no', { exitCode: 4 }), 4, 'ERR_CLI_USAGE'],
    [new Error('boom'), 1, 'ERR_CLI_UNEXPECTED'],
    ['text', 1, 'ERR_CLI_UNEXPECTED'],
    [Object.assign(new Error('EACCES'), { code: 'EACCES', syscall: 'mkdir', path: '/x' }), 1, 'ERR_CLI_FILE'],
    [Object.assign(new Error('lib'), { code: 'ERR_TRANSPORT_LISTEN' }), 1, 'ERR_TRANSPORT_LISTEN'],
  ])('%s has exit code %i and the code %s in JSON', (error, exitCode, code) => {
    const result = report(error, ['x', '--format', 'json']);
    expect(result.code).toBe(exitCode);
    expect(JSON.parse(result.stderr)).toMatchObject({ error: { code } });
  });

  it('keeps file and line in the envelope', () => {
    const error = new CliError('ERR_CLI_FILE', 'bad', { file: '/x', line: 3, hint: 'fix it' });
    expect(JSON.parse(report(error, ['--format=json']).stderr)).toEqual({
      error: { code: 'ERR_CLI_FILE', message: 'bad', hint: 'fix it', file: '/x', line: 3 },
    });
    const details = { file: '/y', line: 4, hint: 'mend it' };
    const library = Object.assign(new Error('worse'), { code: 'ERR_X', details });
    expect(JSON.parse(report(library, ['--format=json']).stderr)).toEqual({
      error: { code: 'ERR_X', message: 'worse', ...details },
    });
  });

  it('is text with one Try: line last, and a stack with --debug', () => {
    expect(report(new CliError('ERR_CLI_FILE', 'bad', { hint: 'fix it' }), []).stderr).toBe(
      'error: bad\nTry: fix it\n',
    );
    const cause = new Error('below');
    expect(report(new Error('above', { cause }), ['--debug']).stderr).toMatch(
      /^error: above\n[^]*caused by Error: below[^]*\nTry: /,
    );
  });

  it('is silent with 130 when the user interrupted', () => {
    const controller = new AbortController();
    controller.abort(Object.assign(new Error('Interrupted by SIGINT'), { name: 'AbortError' }));
    expect(report(controller.signal.reason, [], controller.signal)).toEqual({ code: 130, stderr: '' });
    expect(report(new Error('boom'), [], controller.signal).code).toBe(1);
  });

  it('does not let a message command the terminal', () => {
    expect(report(new Error('\u001b[2Jcleared\u0007'), []).stderr).toMatch(/^error: cleared\n/);
  });
});

describe('suggestions', () => {
  it.each([
    ['stpo', ['stop', 'start', 'status'], ['stop']],
    ['everythng', ['everything', 'fetch'], ['everything']],
    ['fetch', ['my-fetch-server'], ['my-fetch-server']],
    ['x', ['everything'], []],
  ])('for %s among %j are %j', (word, candidates, expected) => {
    expect(closest(word, candidates)).toEqual(expected);
  });

  it('name two', () => {
    expect(didYouMean('bsh', ['bash', 'zsh', 'fish'])).toBe(' (did you mean "bash" or "zsh"?)');
    expect(didYouMean('x', [])).toBe('');
  });

  it('measure a distance that is symmetric and zero for equals alone', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        expect(distance(a, b)).toBe(distance(b, a));
        expect(distance(a, b) === 0).toBe(a === b);
        expect(distance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});

describe('tables', () => {
  it('align by what a terminal shows, and pad no line end', () => {
    expect(
      formatTable(
        ['NAME', 'X'],
        [
          ['日本', 'a'],
          ['ab', ''],
        ],
      ),
    ).toBe('NAME   X\n日本   a\nab\n');
    expect(
      formatFields([
        ['Name', 'a'],
        ['Proxy Mode', 'b'],
      ]),
    ).toBe('Name:         a\nProxy Mode:   b\n');
  });

  it('keep every cell on its line and free of control characters', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }))), (rows) => {
        const lines = formatTable(['A', 'B'], rows).split('\n');
        expect(lines).toHaveLength(rows.length + 2);
        expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      }),
    );
  });

  it('shorten with an ellipsis', () => {
    expect(ellipsis('abcdef', 4)).toBe('abc…');
    expect(ellipsis('abc', 4)).toBe('abc');
    expect(ellipsis('日本語', 4)).toBe('日…');
  });

  it('drop what moves a cursor', () => {
    expect(printable('a\u001b[31mb\u001b[0m\u001b]0;title\u0007c\td\ne')).toBe('abc\td\ne');
    expect(plain('a\r\n  b\tc')).toBe('a b c');
  });
});

describe('times', () => {
  const now = Date.parse('2026-12-01T12:00:00Z');

  it.each([
    ['2026-12-01T11:59:59Z', '1 second ago', '0m'],
    ['2026-12-01T11:58:00Z', '2 minutes ago', '2m'],
    ['2026-12-01T09:30:00Z', '2 hours ago', '2h 30m'],
    ['2026-11-29T11:00:00Z', '2 days ago', '2d 1h 0m'],
    ['2027-01-01T00:00:00Z', '0 seconds ago', '0m'],
    ['no time', 'no time', ''],
  ])('%s is %s, up %s', (time, ago, up) => {
    expect(timeAgo(time, now)).toBe(ago);
    expect(uptime(time, now)).toBe(up);
  });

  it('are local where a person reads them', () => {
    expect(localTime('2026-12-01T14:02:11Z')).toMatch(/^2026-1[12]-\d\d \d\d:02:11$/);
    expect(localTime('no time')).toBe('no time');
  });
});
