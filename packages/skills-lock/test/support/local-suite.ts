import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { skillClients } from '../../src/index.js';
import { openBench } from './bench.js';
import type { Bench, BenchOptions } from './bench.js';

/** The same expectations of the service itself and of the client that asks for it over HTTP. */
export function describeLocalSkills(via: NonNullable<BenchOptions['via']>): void {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench({ via });
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  describe('a skill from a folder', () => {
    it('is installed for every client that is found, and leaves nothing when it goes', async () => {
      const before = bench.files();
      const { skill } = await bench.service.install({
        name: bench.skill('demo', { files: { 'refs/guide.md': 'guide' } }),
      });
      expect(skill).toMatchObject({
        scope: 'user',
        clients: ['claude-code', 'cursor'],
        managed: false,
        metadata: { version: '1.0.0', author: 'acme' },
      });
      expect(bench.files()).toEqual(
        [
          ...before,
          '.claude/skills/demo/SKILL.md',
          '.claude/skills/demo/refs/guide.md',
          '.cursor/skills/demo/SKILL.md',
          '.cursor/skills/demo/refs/guide.md',
        ].toSorted(),
      );
      expect([...(bench.groups.members.get('default') ?? [])]).toEqual(['demo']);
      await bench.service.uninstall({ name: 'demo' });
      expect(bench.files()).toEqual(before);
      expect(existsSync(join(bench.home, '.claude/skills'))).toBe(false);
      expect(existsSync(join(bench.home, '.claude'))).toBe(false);
      expect(await bench.service.list()).toEqual([]);
      expect([...(bench.groups.members.get('default') ?? [])]).toEqual([]);
    });

    it.each(
      skillClients.flatMap(({ id, userFolder, projectFolder }) => [
        [id, 'user', `${userFolder}/demo/SKILL.md`],
        [id, 'project', `work/project/${projectFolder}/demo/SKILL.md`],
      ]),
    )('lies for %s in %s scope at %s, and goes without a trace', async (client, scope, path) => {
      const before = bench.files();
      const place = { scope: scope ?? '', ...(scope === 'project' ? { project_root: bench.project } : {}) };
      await bench.service.install({
        name: bench.skill('demo'),
        clients: [client ?? ''],
        allow_unsigned: true,
        ...place,
      });
      expect(bench.files()).toContain(path);
      await bench.service.uninstall({ name: 'demo', ...place });
      expect(bench.files().filter((file) => !file.endsWith('toolhive.lock.yaml'))).toEqual(before);
    });

    it('is written once where clients share a folder, and both are recorded', async () => {
      const { skill } = await bench.service.install({
        name: bench.skill('demo'),
        clients: ['vscode', 'vscode-insider'],
      });
      expect(skill.clients).toEqual(['vscode', 'vscode-insider']);
      expect(bench.files().filter((path) => path.endsWith('demo/SKILL.md'))).toEqual(['.copilot/skills/demo/SKILL.md']);
    });

    it('gets further clients without a conflict with its own files', async () => {
      const source = bench.skill('demo');
      await bench.service.install({ name: source, clients: ['codex'] });
      const { skill } = await bench.service.install({ name: source, clients: ['goose', 'kiro'] });
      expect(skill.clients).toEqual(['codex', 'goose', 'kiro']);
      expect(bench.files()).toContain('.kiro/skills/demo/SKILL.md');
    });

    it('does not replace what somebody else put there, unless told to', async () => {
      mkdirSync(join(bench.home, '.claude/skills/demo'), { recursive: true });
      writeFileSync(join(bench.home, '.claude/skills/demo/mine.md'), 'mine');
      const source = bench.skill('demo');
      await expect(bench.service.install({ name: source })).rejects.toMatchObject({
        code: 'ERR_SKILLS_LOCK_CONFLICT',
        status: 409,
      });
      expect(bench.files()).toContain('.claude/skills/demo/mine.md');
      expect(await bench.service.list()).toEqual([]);
      await bench.service.install({ name: source, force: true });
      expect(bench.files()).not.toContain('.claude/skills/demo/mine.md');
    });

    it('writes all clients anew when its content changed', async () => {
      await bench.service.install({ name: bench.skill('demo'), clients: ['claude-code', 'cursor'] });
      await bench.service.install({ name: bench.skill('demo', { version: '2.0.0' }), clients: ['claude-code'] });
      expect(bench.read('.cursor/skills/demo/SKILL.md')).toContain('version: 2.0.0');
      expect((await bench.service.info({ name: 'demo' })).metadata.version).toBe('2.0.0');
    });

    it('is not installed into itself', async () => {
      const folder = join(bench.home, '.claude/skills/demo');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'SKILL.md'), '---\nname: demo\ndescription: x\n---\n');
      await expect(bench.service.install({ name: folder, force: true })).rejects.toMatchObject({
        code: 'ERR_SKILLS_LOCK_ARGUMENT',
      });
      expect(existsSync(join(folder, 'SKILL.md'))).toBe(true);
    });

    it('is not written through a link', async () => {
      mkdirSync(join(bench.home, '.claude/skills'), { recursive: true });
      mkdirSync(join(bench.root, 'elsewhere'));
      symlinkSync(join(bench.root, 'elsewhere'), join(bench.home, '.claude/skills/demo'));
      await expect(bench.service.install({ name: bench.skill('demo'), force: true })).rejects.toMatchObject({
        code: 'ERR_SKILLS_LOCK_UNSAFE_PATH',
      });
    });

    it('keeps no half when one client cannot be written', async () => {
      mkdirSync(join(bench.home, '.kiro'), { recursive: true });
      writeFileSync(join(bench.home, '.kiro/skills'), 'a file in the way');
      const before = bench.files();
      await expect(
        bench.service.install({ name: bench.skill('demo'), clients: ['claude-code', 'kiro'] }),
      ).rejects.toThrow();
      expect(bench.files()).toEqual(before);
      expect(await bench.service.list()).toEqual([]);
    });

    it.each([
      [{ name: '' }, /empty/],
      [{ name: 'No_Name' }, /neither a skill name/],
      [{ name: './nowhere' }, /nowhere/],
      [{ name: 'ghost' }, /No skill "ghost"/],
      [{ name: 'git@github.com:a/b' }, /ssh addresses/],
      [{ name: './x', scope: 'planet' }, /Scope must be/],
      [{ name: './x', scope: 'user', project_root: '/tmp' }, /takes no project root/],
      [{ name: './x', scope: 'project', project_root: '/no/such' }, /does not exist/],
      [{ name: './x', scope: 'project', project_root: 'relative' }, /absolute path/],
    ])('refuses %j', async (request, message) => {
      await expect(bench.service.install(request)).rejects.toThrow(message);
    });

    it.each([
      [['nobody'], /is no client/],
      [['all', 'cursor'], /stands alone/],
      [['cursor', 'cursor'], /named twice/],
      [[' '], /is empty/],
    ])('refuses the clients %j', async (clients, message) => {
      await expect(bench.service.install({ name: bench.skill('demo'), clients })).rejects.toThrow(message);
    });

    it('is refused with its diagnostics when its SKILL.md is broken', async () => {
      const folder = bench.skill('demo');
      writeFileSync(join(folder, 'SKILL.md'), '---\nname: demo\ndescription: a: b\n---\n');
      await expect(bench.service.install({ name: folder })).rejects.toMatchObject({ status: 400 });
    });
  });

  describe('a project', () => {
    const place = () => ({ scope: 'project', project_root: bench.project });

    it('refuses an unsigned skill until somebody says so, and then records it', async () => {
      const source = bench.skill('demo');
      await expect(bench.service.install({ name: source, ...place() })).rejects.toMatchObject({
        code: 'ERR_SKILLS_LOCK_REFUSED',
        details: { reason: 'unsigned-rejected' },
      });
      expect(bench.lockText()).toBe('');
      const result = await bench.service.install({ name: source, ...place(), allow_unsigned: true });
      expect(result).toMatchObject({ unsigned: true, skill: { managed: true } });
      expect(bench.lock().skills[0]).toMatchObject({
        name: 'demo',
        source,
        unsigned: true,
        explicit: true,
        version: '1.0.0',
      });
    });

    it('is in sync after an installation; a changed, added or linked file is drift, and sync repairs it', async () => {
      await bench.service.install({
        name: bench.skill('demo', { files: { 'a.txt': 'a' } }),
        ...place(),
        allow_unsigned: true,
        clients: ['claude-code'],
      });
      const check = () => bench.service.sync({ project_root: bench.project, check: true });
      expect(await check()).toMatchObject({ already_current: ['demo'], drifted: [] });
      const folder = join(bench.project, '.claude/skills/demo');
      const damages: readonly (() => void)[] = [
        () => writeFileSync(join(folder, 'a.txt'), 'b'),
        () => writeFileSync(join(folder, 'added.txt'), 'x'),
        () => symlinkSync('/etc/passwd', join(folder, 'link')),
        () => rmSync(join(folder, 'SKILL.md')),
        () => rmSync(folder, { recursive: true }),
      ];
      for (const damage of damages) {
        damage();
        const found = await check();
        expect(found).toMatchObject({ drifted: ['demo'], installed: [] });
        expect(found.drift.demo?.length).toBeGreaterThan(0);
        expect(await bench.service.sync({ project_root: bench.project })).toMatchObject({
          drifted: ['demo'],
          installed: ['demo'],
          failed: [],
        });
        expect(await check()).toMatchObject({ already_current: ['demo'] });
        expect(existsSync(join(folder, 'link'))).toBe(false);
      }
    });

    it('tells what the lock no longer names, and prunes it when asked', async () => {
      await bench.service.install({
        name: bench.skill('demo'),
        ...place(),
        allow_unsigned: true,
        clients: ['claude-code'],
      });
      rmSync(join(bench.project, 'toolhive.lock.yaml'));
      expect(await bench.service.sync({ project_root: bench.project })).toMatchObject({
        removed_from_lock: ['demo'],
        pruned: [],
      });
      expect(await bench.service.sync({ project_root: bench.project, prune: true })).toMatchObject({
        pruned: ['demo'],
      });
      expect(bench.files().filter((path) => path.includes('skills/'))).toEqual([]);
    });

    it('leaves a folder of its own alone when it prunes', async () => {
      mkdirSync(join(bench.project, '.claude/skills/own'), { recursive: true });
      writeFileSync(join(bench.project, '.claude/skills/own/SKILL.md'), 'own');
      await bench.service.sync({ project_root: bench.project, prune: true });
      expect(bench.files()).toContain('work/project/.claude/skills/own/SKILL.md');
    });

    it('records a relative path from the root of the project, whatever the working folder was', async () => {
      bench.skill('demo');
      await bench.service.install({ name: './sources/demo', ...place(), allow_unsigned: true, clients: ['codex'] });
      expect(bench.lock().skills[0]?.source).toBe('../../../../sources/demo');
      bench.skill('demo', { version: '2.0.0' });
      const { outcomes } = await bench.service.upgrade({ project_root: bench.project });
      expect(outcomes).toMatchObject([{ status: 'upgraded' }]);
    });

    it('takes the way of a broken lock file: nothing is written, the place is named', async () => {
      writeFileSync(join(bench.project, 'toolhive.lock.yaml'), 'version: 1\nskills: 7\n');
      for (const action of [
        () => bench.service.install({ name: bench.skill('demo'), ...place(), allow_unsigned: true }),
        () => bench.service.sync({ project_root: bench.project }),
        () => bench.service.upgrade({ project_root: bench.project }),
      ]) {
        await expect(action()).rejects.toMatchObject({
          code: 'ERR_SKILLS_LOCK_FILE',
          message: expect.stringContaining(':2:9:') as string,
        });
      }
      expect(bench.files().filter((path) => path.includes('skills/'))).toEqual([]);
    });

    it('keeps no files when the lock file cannot be written', async () => {
      chmodSync(bench.project, 0o555);
      writeFileSync(join(bench.root, 'blocker'), '');
      symlinkSync(join(bench.root, 'blocker'), join(bench.project, 'toolhive.lock.yaml'));
      await expect(
        bench.service.install({ name: bench.skill('demo'), ...place(), allow_unsigned: true }),
      ).rejects.toMatchObject({ code: 'ERR_SKILLS_LOCK_FILE' });
      chmodSync(bench.project, 0o755);
      expect(bench.files().filter((path) => path.includes('skills/'))).toEqual([]);
      expect(await bench.service.list()).toEqual([]);
    });

    it('installs what a skill needs, once, and takes it along when the skill goes', async () => {
      const leaf = bench.skill('leaf');
      const middle = bench.skill('middle', { requires: [leaf] });
      const top = bench.skill('top', { requires: [middle, leaf] });
      // Local skills carry no signature, and the permission is not handed down.
      await expect(bench.service.install({ name: top, ...place(), allow_unsigned: true })).rejects.toMatchObject({
        details: { reason: 'unsigned-rejected' },
      });
      expect(bench.files().filter((path) => path.includes('skills/'))).toEqual([]);
      expect(bench.lockText()).toBe('');
      for (const name of [leaf, middle, top])
        await bench.service.install({ name, ...place(), allow_unsigned: true }).catch((error: unknown) => error);
      expect(bench.lock().skills.map(({ name }) => name)).toContain('leaf');
    });

    it('shows the groups and filters by scope, client and group', async () => {
      await bench.service.install({
        name: bench.skill('demo'),
        ...place(),
        allow_unsigned: true,
        clients: ['codex'],
        group: 'team',
      });
      await bench.service.install({ name: bench.skill('other') });
      const names = async (request: object) => (await bench.service.list(request)).map(({ metadata }) => metadata.name);
      expect(await names({})).toEqual(['demo', 'other']);
      expect(await names({ scope: 'user' })).toEqual(['other']);
      expect(await names({ group: 'team' })).toEqual(['demo']);
      expect(await names({ client: 'codex' })).toEqual(['demo']);
      await expect(bench.service.list({ group: 'ghost' })).rejects.toMatchObject({ status: 404 });
      await expect(bench.service.install({ name: bench.skill('third'), group: 'ghost' })).rejects.toMatchObject({
        status: 404,
      });
      expect(await names({})).toEqual(['demo', 'other']);
    });
  });

  describe('a local build', () => {
    it('is listed, installed by name or tag, and removed', async () => {
      const { reference } = await bench.service.build({ path: bench.skill('demo') });
      expect(reference).toBe('demo');
      expect(await bench.service.builds()).toMatchObject([{ tag: 'demo', name: 'demo', version: '1.0.0' }]);
      const result = await bench.service.install({ name: 'demo' });
      expect(result.notices?.join()).toContain('local build');
      await bench.service.removeBuild('demo');
      expect(await bench.service.builds()).toEqual([]);
      await expect(bench.service.removeBuild('demo')).rejects.toMatchObject({ status: 404 });
    });

    it('is ambiguous when several versions carry one name', async () => {
      await bench.service.build({ path: bench.skill('demo'), tag: 'v1' });
      await bench.service.build({ path: bench.skill('demo', { version: '2.0.0' }), tag: 'v2' });
      await expect(bench.service.install({ name: 'demo' })).rejects.toMatchObject({ status: 409 });
      const { skill } = await bench.service.install({ name: 'demo', version: '2.0.0' });
      expect(skill.metadata.version).toBe('2.0.0');
    });

    it('can be locked under a full reference only', async () => {
      const place = { scope: 'project', project_root: bench.project, allow_unsigned: true };
      await bench.service.build({ path: bench.skill('demo') });
      await expect(bench.service.install({ name: 'demo', ...place })).rejects.toMatchObject({
        code: 'ERR_SKILLS_LOCK_ARGUMENT',
        message: expect.stringContaining('--tag') as string,
      });
      await bench.service.build({ path: bench.skill('demo'), tag: 'registry.example/acme/demo:1.0.0' });
      await bench.service.install({ name: 'registry.example/acme/demo:1.0.0', ...place });
      expect(bench.lock().skills[0]).toMatchObject({
        resolvedReference: 'registry.example/acme/demo:1.0.0',
        unsigned: true,
      });
    });

    it('shows what a skill consists of without installing it', async () => {
      const content = await bench.service.content(bench.skill('demo', { files: { 'a/SKILL.md': 'nested' } }));
      expect(content).toMatchObject({
        name: 'demo',
        version: '1.0.0',
        body: expect.stringContaining('# demo') as string,
      });
      expect(content.files.map(({ path }) => path).toSorted()).toEqual(['SKILL.md', 'a/SKILL.md']);
      expect(bench.files().filter((path) => path.includes('skills/'))).toEqual([]);
    });

    it.each([
      [{}, /none was given/],
      [{ no_sign: true, key: '/x' }, /more than one/],
      [{ key: '/no/such/key' }, /was not found/],
    ])('is not pushed with %j', async (request, message) => {
      await bench.service.build({ path: bench.skill('demo'), tag: 'registry.example/acme/demo:1.0.0' });
      await expect(bench.service.push({ reference: 'registry.example/acme/demo:1.0.0', ...request })).rejects.toThrow(
        message,
      );
    });

    it('must be there to be pushed', async () => {
      await expect(
        bench.service.push({ reference: 'registry.example/acme/ghost:1', no_sign: true }),
      ).rejects.toMatchObject({ status: 404 });
    });

    it('is validated with places', async () => {
      const folder = bench.skill('demo');
      expect(await bench.service.validate({ path: folder })).toEqual({ valid: true });
      writeFileSync(join(folder, 'SKILL.md'), '---\nname: other\ndescription: x\n---\n');
      const verdict = await bench.service.validate({ path: folder });
      expect(verdict.valid).toBe(false);
      expect(verdict.errors?.[0]).toMatch(/^SKILL\.md:2:\d+: /);
    });
  });
}
