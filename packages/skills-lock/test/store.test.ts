import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteSkillStore } from '../src/sqlite.js';
import type { SkillRecord } from '../src/store/port.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'thv-store-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const open = () => openSqliteSkillStore(join(folder, 'state', 'toolhive.db'));

const record = (more: Partial<SkillRecord> = {}): SkillRecord => ({
  name: 'demo',
  scope: 'project',
  projectRoot: '/home/me/project',
  reference: 'ghcr.io/acme/demo:1.0.0',
  tag: '1.0.0',
  digest: `sha256:${'a'.repeat(64)}`,
  version: '1.0.0',
  description: 'Says hello — 你好',
  author: 'acme',
  tags: ['greeting'],
  clients: ['claude-code', 'cursor'],
  status: 'installed',
  installedAt: '2026-01-02T03:04:05Z',
  managed: true,
  dependencies: [
    { name: 'base', reference: 'ghcr.io/acme/base:1', digest: 'sha256:b' },
    { reference: 'ghcr.io/acme/other' },
  ],
  bundle: Buffer.from('{"a":1}'),
  payload: Buffer.from([0, 255, 1]),
  ...more,
});

describe('the store of installed skills', () => {
  it('answers a record as it was put, also after it is opened again', async () => {
    const first = await open();
    await first.put(record());
    await first.close();
    await using store = await open();
    expect(await store.get(record())).toEqual(record());
  });

  it('replaces a record and keeps when it was first installed', async () => {
    await using store = await open();
    await store.put(record());
    await store.put(record({ version: '2.0.0', installedAt: '2030-01-01T00:00:00Z', dependencies: [] }));
    expect(await store.get(record())).toMatchObject({
      version: '2.0.0',
      installedAt: '2026-01-02T03:04:05Z',
      dependencies: [],
    });
    expect(await store.list()).toHaveLength(1);
  });

  it('keeps the same name of both scopes and of two projects apart', async () => {
    await using store = await open();
    await store.put(record());
    await store.put(record({ projectRoot: '/home/me/other', clients: ['codex'] }));
    await store.put(record({ scope: 'user', projectRoot: '', managed: false }));
    await store.put(record({ name: 'alpha' }));
    expect((await store.list()).map(({ name, scope }) => `${name} ${scope}`)).toEqual([
      'alpha project',
      'demo project',
      'demo project',
      'demo user',
    ]);
    expect(await store.list({ scope: 'user' })).toHaveLength(1);
    expect(await store.list({ projectRoot: '/home/me/other' })).toHaveLength(1);
    expect(await store.list({ client: 'codex' })).toHaveLength(1);
    expect(await store.delete(record())).toBe(true);
    expect(await store.delete(record())).toBe(false);
    expect(await store.list({ name: 'demo' })).toHaveLength(2);
  });

  it('refuses a managed skill of the user scope', async () => {
    await using store = await open();
    await expect(store.put(record({ scope: 'user', projectRoot: '' }))).rejects.toMatchObject({
      code: 'ERR_SKILLS_LOCK_STORE',
    });
  });

  it('is opened by several at once', async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, open));
    for (const [index, store] of stores.entries()) await store.put(record({ name: `skill-${index}` }));
    expect(await stores[0]?.list()).toHaveLength(8);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('says what to do with a file that is no database', async () => {
    writeFileSync(join(folder, 'broken.db'), 'x'.repeat(4096));
    await expect(openSqliteSkillStore(join(folder, 'broken.db'))).rejects.toMatchObject({
      code: 'ERR_SKILLS_LOCK_STORE',
      message: expect.stringContaining('Move the file away') as string,
    });
  });
});
