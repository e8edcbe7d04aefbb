import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, describe, expect, it } from 'vitest';
import { createEngine } from '../src/index.js';
import { openSqliteStore } from '../src/sqlite.js';
import { define } from './support/define.js';
import { fakeTools } from './support/tools.js';

const directory = mkdtempSync(join(tmpdir(), 'workflow-sqlite-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const file = (name: string): string => join(directory, name);

describe('openSqliteStore', () => {
  it('makes the file and its folder, for the owner alone', async () => {
    const path = file('deep/er/state.db');
    const store = await openSqliteStore(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(file('deep')).mode & 0o777).toBe(0o700);
    await store.close();
    await store.close();
  });

  it('writes ahead, and asks the disk for durability unless told otherwise', async () => {
    const path = file('pragmas.db');
    const store = await openSqliteStore(path);
    const other = new Database(path);
    expect(other.pragma('journal_mode', { simple: true })).toBe('wal');
    other.close();
    await store.close();
    await expect(openSqliteStore(path, { synchronous: 'off' as never })).rejects.toThrow(
      'Expected `synchronous` to be `full` or `normal`',
    );
    const normal = await openSqliteStore(path, { synchronous: 'normal' });
    expect(normal.durable).toBe(true);
    await normal.close();
  });

  it('opens in memory too', async () => {
    const store = await openSqliteStore(':memory:');
    expect(await store.getRun('x')).toBeUndefined();
    await store.close();
    expect(existsSync(':memory:')).toBe(false);
  });

  it('says what to install where the driver is missing or was built for another Node', async () => {
    const missing = openSqliteStore(file('never.db'), {
      driver: () => Promise.reject(new Error("Cannot find package 'better-sqlite3'")),
    });
    await expect(missing).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_DRIVER' });
    await expect(missing).rejects.toThrow('npm install better-sqlite3@12');
    const foreign = function foreign(): never {
      throw new Error('was compiled against a different Node.js version using NODE_MODULE_VERSION 127');
    };
    const broken = openSqliteStore(file('never.db'), {
      driver: async () => ({ default: foreign as unknown as typeof Database }),
    });
    await expect(broken).rejects.toThrow('NODE_MODULE_VERSION 127');
    expect(existsSync(file('never.db'))).toBe(false);
  });

  it('refuses a file that is no database, and one of a newer version', async () => {
    writeFileSync(file('text.db'), 'this is no database, but long enough to be looked at as one '.repeat(50));
    await expect(openSqliteStore(file('text.db'))).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_STORE',
      details: { path: file('text.db') },
    });
    const store = await openSqliteStore(file('newer.db'));
    await store.close();
    const raw = new Database(file('newer.db'));
    raw.exec('update wf_migration set version = 99');
    raw.close();
    await expect(openSqliteStore(file('newer.db'))).rejects.toThrow('has version 99, this program knows 1');
    await expect(openSqliteStore(join(file('text.db'), 'below.db'))).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_STORE',
    });
    await expect(openSqliteStore('')).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_ARGUMENT' });
  });

  it('can be opened several times at once, by whoever comes first', async () => {
    const stores = await Promise.all(
      Array.from({ length: 4 }, () => openSqliteStore(file('shared.db'), { synchronous: 'normal' })),
    );
    const definition = define('- {id: a, tool: t.a}\n- {id: b, tool: t.a, dependsOn: [a]}');
    const runs = stores.map(async (store) => {
      const engine = createEngine({ store, tools: fakeTools({ 't.a': () => 'x' }) });
      const results = await Promise.all(Array.from({ length: 5 }, async () => (await engine.run(definition)).result));
      return results.map(({ status }) => status);
    });
    expect((await Promise.all(runs)).flat()).toEqual(Array.from({ length: 20 }, () => 'completed'));
    expect((await stores[0]?.listRuns({ limit: 100 }))?.runs).toHaveLength(20);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('keeps the definition once for each run, apart from the row that every step writes', async () => {
    const store = await openSqliteStore(file('wide.db'), { synchronous: 'normal' });
    const definition = define('- {id: a, tool: t.a, arguments: {text: "' + 'x'.repeat(5000) + '"}}');
    const engine = createEngine({ store, tools: fakeTools({ 't.a': () => 'x' }) });
    const { runId } = await (await engine.run(definition, { n: 1 }, { vars: { v: [1] } })).result;
    expect(await store.getRun(runId)).toMatchObject({
      definition: JSON.parse(JSON.stringify(definition)) as object,
      params: { n: 1 },
      vars: { v: [1] },
    });
    await store.close();
    const raw = new Database(file('wide.db'));
    expect(raw.prepare("select group_concat(name) as names from pragma_table_info('wf_run')").get()).not.toMatchObject({
      names: expect.stringContaining('definition') as string,
    });
    expect(raw.prepare('select length(definition) as length from wf_input').get()).toMatchObject({
      length: expect.any(Number) as number,
    });
    raw.close();
  });
});
