import { appendFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLogFile, readLog, removeLog, tailLog } from '../src/index.js';
import { temporaryFolder } from './support.js';

async function textOf(path: string): Promise<string> {
  let text = '';
  for await (const chunk of readLog(path)) text += chunk.toString();
  return text;
}

describe('a log file', () => {
  it('appends, across openings, with mode 0600', async () => {
    const path = join(await temporaryFolder(), 'logs', 'a.log');
    for (const word of ['one\n', 'two\n']) {
      const log = openLogFile(path);
      log.write(word);
      log.close();
      log.write('lost');
    }
    expect(await textOf(path)).toBe('one\ntwo\n');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('keeps its size within bounds and the newest text', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'a.log');
    const log = openLogFile(path, { maxBytes: 100, keep: 2 });
    for (let line = 0; line < 100; line += 1) log.write(`line ${line}\n`);
    log.close();
    const files = (await readdir(folder)).toSorted();
    expect(files).toEqual(['a.log', 'a.log.1', 'a.log.2']);
    for (const file of files) expect((await stat(join(folder, file))).size).toBeLessThanOrEqual(100);
    const text = await textOf(path);
    expect(text.endsWith('line 98\nline 99\n')).toBe(true);
    expect(text).toMatch(/^line \d+\n/);
    expect(text).not.toContain('line 1\n');
  });

  it('is read while it rotates, without losing or repeating a line', async () => {
    const path = join(await temporaryFolder(), 'a.log');
    const log = openLogFile(path, { maxBytes: 200, keep: 9 });
    const controller = new AbortController();
    let text = '';
    const reading = (async () => {
      for await (const chunk of readLog(path, { follow: true, pollMs: 1, signal: controller.signal })) {
        text += chunk.toString();
        if (text.includes('line 99\n')) controller.abort();
      }
    })();
    for (let line = 0; line < 100; line += 1) {
      log.write(`line ${line}\n`);
      if (line % 10 === 9) await new Promise((resolve) => setImmediate(resolve));
    }
    await reading;
    log.close();
    expect(text).toBe(Array.from({ length: 100 }, (_, line) => `line ${line}\n`).join(''));
  });

  it('is waited for when it does not exist yet', async () => {
    const path = join(await temporaryFolder(), 'a.log');
    const controller = new AbortController();
    const chunks = readLog(path, { follow: true, pollMs: 1, signal: controller.signal });
    const first = chunks.next();
    await appendFile(path, 'hello\n');
    expect((await first).value?.toString()).toBe('hello\n');
    controller.abort();
    expect((await chunks.next()).done).toBe(true);
  });

  it('is empty when there is none, and can be removed with all its parts', async () => {
    const folder = await temporaryFolder();
    const path = join(folder, 'a.log');
    expect(await textOf(path)).toBe('');
    expect(await tailLog(path, 5)).toEqual([]);
    expect(await removeLog(path)).toBe(false);
    const log = openLogFile(path, { maxBytes: 10 });
    for (const text of ['12345678\n', 'abcdefgh\n', 'x\ny\n']) log.write(text);
    log.close();
    expect(await tailLog(path, 1)).toEqual(['y']);
    await appendFile(join(folder, 'a.log.backup'), 'not ours');
    expect(await removeLog(path)).toBe(true);
    expect(await readdir(folder)).toEqual(['a.log.backup']);
  });
});
