import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createGroupStore } from '../src/index.js';
import { temporaryPaths } from './support.js';

describe('groups', () => {
  it('has the default group from the start', async () => {
    const groups = createGroupStore(await temporaryPaths());
    expect(await groups.list()).toEqual([{ name: 'default', registered_clients: [] }]);
    expect(await groups.exists('default')).toBe(true);
    await expect(groups.create('default')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_GROUP_EXISTS' });
    await expect(groups.remove('default')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_GROUP_DEFAULT' });
  });

  it('creates, lists in order, and removes', async () => {
    const groups = createGroupStore(await temporaryPaths());
    await groups.create('web');
    await groups.create('api');
    expect((await groups.list()).map(({ name }) => name)).toEqual(['api', 'default', 'web']);
    await expect(groups.create('web')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_GROUP_EXISTS' });
    await groups.remove('web');
    expect(await groups.exists('web')).toBe(false);
    await expect(groups.remove('web')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_GROUP_NOT_FOUND' });
    await expect(groups.require('web')).rejects.toThrow("group 'web' does not exist");
  });

  it('lets exactly one of several creators have a name', async () => {
    const groups = createGroupStore(await temporaryPaths());
    const results = await Promise.allSettled([1, 2, 3].map(async () => groups.create('web')));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('lists a group whose file is broken', async () => {
    const paths = await temporaryPaths();
    const groups = createGroupStore(paths);
    await groups.create('web');
    await writeFile(join(paths.groups, 'web.json'), '{');
    expect(await groups.list()).toContainEqual({ name: 'web', registered_clients: [] });
  });

  it('refuses a name that is no name', async () => {
    const groups = createGroupStore(await temporaryPaths());
    await expect(groups.create('../x')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_NAME' });
    await expect(groups.create('')).rejects.toThrow('group name cannot be empty');
  });

  it('keeps skills beside everything else that is in the file', async () => {
    const paths = await temporaryPaths();
    const groups = createGroupStore(paths);
    await groups.create('web');
    const path = join(paths.groups, 'web.json');
    await writeFile(path, JSON.stringify({ name: 'web', registered_clients: ['cursor'], future: { a: 1 } }));
    expect(await groups.addSkill('web', 'pdf')).toBe(true);
    expect(await groups.addSkill('web', 'docs')).toBe(true);
    expect(await groups.addSkill('web', 'pdf')).toBe(false);
    expect(await groups.skillsOf('web')).toEqual(['docs', 'pdf']);
    expect(await groups.list()).toContainEqual({
      name: 'web',
      registered_clients: ['cursor'],
      skills: ['docs', 'pdf'],
    });
    await groups.addSkill('default', 'pdf');
    await groups.removeSkillFromAll('pdf');
    expect(await groups.skillsOf('default')).toEqual([]);
    await groups.removeSkill('web', 'docs');
    await groups.removeSkill('web', 'docs');
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
      name: 'web',
      registered_clients: ['cursor'],
      future: { a: 1 },
      skills: [],
    });
    await expect(groups.addSkill('nobody', 'pdf')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_GROUP_NOT_FOUND' });
  });

  it('loses nothing of a broken file when a skill is added', async () => {
    const paths = await temporaryPaths();
    const groups = createGroupStore(paths);
    await groups.create('web');
    const path = join(paths.groups, 'web.json');
    await writeFile(path, '{"registered_clients": ["cursor"]');
    await expect(groups.addSkill('web', 'pdf')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_FILE' });
    expect(await readFile(path, 'utf8')).toBe('{"registered_clients": ["cursor"]');
  });
});
