import { mkdirSync, readdirSync, symlinkSync, writeFileSync, chmodSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { formatGitReference, parseGitReference } from '../src/index.js';
import { tokenFor } from '../src/git/auth.js';
import { createGitResolver } from '../src/git/resolve.js';
import type { GitResolverOptions } from '../src/git/resolve.js';
import { startGitServer } from './support/git-server.js';
import type { GitRepository, GitServer } from './support/git-server.js';

describe('a git reference', () => {
  it.each([
    ['git://github.com/org/repo', { host: 'github.com', repository: 'org/repo' }],
    ['git://GitHub.com/org/repo.git@v1.0.0', { host: 'github.com', repository: 'org/repo', ref: 'v1.0.0' }],
    ['git://github.com/org/repo#skills/my-skill', { repository: 'org/repo', path: 'skills/my-skill' }],
    ['git://github.com/org/repo@feat/x#a/b', { ref: 'feat/x', path: 'a/b' }],
    ['git://gitlab.com/a/b/c', { repository: 'a/b/c' }],
    ['https://github.com/org/repo', { host: 'github.com', repository: 'org/repo' }],
    ['https://github.com/org/repo/tree/main/skills/x', { repository: 'org/repo', ref: 'main', path: 'skills/x' }],
    ['https://gitlab.com/a/b/c/-/tree/v2/skills/x', { repository: 'a/b/c', ref: 'v2', path: 'skills/x' }],
    ['https://github.com/org/repo/blob/main/skills/x/SKILL.md', { ref: 'main', path: 'skills/x' }],
    ['git://127.0.0.1:8080/o/r', { host: '127.0.0.1:8080' }],
  ])('is read from %s', (text, expected) => {
    expect(parseGitReference(text)).toMatchObject(expected);
  });

  it.each([
    'git://github.com/org',
    'git:///org/repo',
    'git://user@github.com/org/repo',
    'git://github.com/org/repo@',
    'git://github.com/org/repo@-x',
    'git://github.com/org/repo@a..b',
    'git://github.com/org/repo@a;rm',
    'git://github.com/org/repo@x.lock',
    'git://github.com/org/repo@a@{1}',
    'git://github.com/org/repo#../x',
    'git://github.com/org/repo#/x',
    'git://github.com/org/repo#a//b',
    'git://github.com/org/repo#a\\b',
    'git://github.com/org/../x',
    'git://github.com/org/re po',
    'git@github.com:org/repo',
    'ssh://git@github.com/org/repo',
    'http://github.com/org/repo',
    `git://github.com/org/${'x'.repeat(600)}`,
  ])('is refused with its text and the right form: %s', (text) => {
    expect(() => parseGitReference(text)).toThrow(/git:\/\/host\/owner\/repo@ref#path/);
  });

  it('is printed as it is read', () => {
    const word = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?$/);
    fc.assert(
      fc.property(
        word,
        fc.array(word, { minLength: 2, maxLength: 4 }),
        fc.option(word),
        fc.option(fc.array(word, { minLength: 1, maxLength: 3 })),
        (host, parts, ref, path) => {
          const reference = {
            host: `${host}.test`,
            repository: parts.join('/'),
            ...(ref ? { ref } : {}),
            ...(path ? { path: path.join('/') } : {}),
          };
          expect(parseGitReference(formatGitReference(reference))).toEqual(reference);
        },
      ),
    );
  });
});

describe('a token', () => {
  const env = { GITHUB_TOKEN: 'hub', GITLAB_TOKEN: 'lab', GIT_TOKEN: 'any' };
  it.each([
    ['github.com', 'hub'],
    ['gitlab.com', 'lab'],
    ['notgithub.com', 'any'],
    ['github.com.evil.test', 'any'],
  ])('for %s is %s', (host, token) => {
    expect(tokenFor(host, env)).toBe(token);
  });

  it('of one host goes to no other', () => {
    expect(tokenFor('example.test', { GITHUB_TOKEN: 'hub', GITLAB_TOKEN: 'lab' })).toBeUndefined();
  });
});

const SKILL = '---\nname: demo\ndescription: Shows.\n---\n# Demo\n';

describe('the git program', () => {
  let server: GitServer;
  let repository: GitRepository;
  beforeAll(async () => {
    server = await startGitServer();
    repository = server.repository('org/repo');
  });
  afterAll(() => server.close());
  afterEach(() => {
    server.fault = undefined;
  });

  const open = (options: Partial<GitResolverOptions> = {}) =>
    createGitResolver({
      guard: { resolve: () => Promise.resolve(['127.0.0.1']) },
      env: { PATH: process.env.PATH },
      plainHttp: true,
      ...options,
    });
  const reference = (more: object = {}) => ({ host: server.host, repository: 'org/repo', ...more });
  const leftovers = () =>
    readdirSync(tmpdir()).filter((name) => name.startsWith('thv-git-') && !name.startsWith('thv-git-server-'));

  it('finds branches, tags (also annotated ones and those that look like nothing), and commits', async () => {
    const first = repository.commit({ 'SKILL.md': SKILL });
    repository.git('tag', 'release-1');
    repository.git('tag', '-a', 'v1.0.0', '-m', 'one');
    const second = repository.commit({ 'SKILL.md': `${SKILL}more\n` });
    repository.git('branch', 'release-1-next');
    repository.git('push', '--quiet', 'origin', '--all');
    const git = open();
    expect(await git.resolveCommit(reference())).toBe(second);
    expect(await git.resolveCommit(reference({ ref: 'main' }))).toBe(second);
    expect(await git.resolveCommit(reference({ ref: 'v1.0.0' }))).toBe(first);
    expect(await git.resolveCommit(reference({ ref: 'release-1' }))).toBe(first);
    expect(await git.resolveCommit(reference({ ref: first }))).toBe(first);
    await expect(git.resolveCommit(reference({ ref: 'ghost' }))).rejects.toMatchObject({
      code: 'ERR_SKILLS_LOCK_NOT_FOUND',
    });
    expect((await git.fetchSkill(reference({ ref: first }))).commit).toBe(first);
  });

  it('reads the files of a folder as they are in the commit, and leaves nothing behind', async () => {
    const before = leftovers();
    const binary = Buffer.from([0, 1, 2, 255, 10, 10]);
    repository.commit({
      'skills/demo/SKILL.md': SKILL,
      'skills/demo/data/x.bin': binary,
      'skills/demo/empty': '',
      'skills/other/SKILL.md': 'no',
    });
    const skill = await open().fetchSkill(reference({ path: 'skills/demo' }));
    expect([...skill.files.keys()].toSorted()).toEqual(['SKILL.md', 'data/x.bin', 'empty']);
    expect(skill.files.get('data/x.bin')).toEqual(binary);
    expect(skill.files.get('SKILL.md')?.toString()).toBe(SKILL);
    expect(skill.commitObject.toString()).toMatch(/^tree [0-9a-f]{40}\n/);
    expect(leftovers()).toEqual(before);
  });

  it('runs no hook, no filter and none of the settings of a repository', async () => {
    const trap = join(tmpdir(), `thv-trap-${process.pid}`);
    const own = server.repository('org/trap');
    own.commit({
      'SKILL.md': SKILL,
      '.gitattributes': '* filter=evil\n',
      '.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = /nowhere\n',
    });
    writeFileSync(join(own.folder, '..', 'hook'), `#!/bin/sh\ntouch ${trap}\n`);
    chmodSync(join(own.folder, '..', 'hook'), 0o755);
    const skill = await open({
      env: {
        PATH: process.env.PATH,
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'filter.evil.smudge',
        GIT_CONFIG_VALUE_0: `touch ${trap}`,
      },
    }).fetchSkill(reference({ repository: 'org/trap' }));
    expect(skill.files.has('SKILL.md')).toBe(true);
    expect(existsSync(trap)).toBe(false);
  });

  it('refuses links and submodules, with the path', async () => {
    const own = server.repository('org/links');
    mkdirSync(join(own.folder, 'a'), { recursive: true });
    symlinkSync('/etc/passwd', join(own.folder, 'a', 'link'));
    own.commit({ 'a/SKILL.md': SKILL });
    await expect(open().fetchSkill(reference({ repository: 'org/links', path: 'a' }))).rejects.toThrow(
      /"link" is a symbolic link/,
    );
    own.git('update-index', '--add', '--cacheinfo', `160000,${own.git('rev-parse', 'HEAD')},b/sub`);
    own.git('commit', '--quiet', '-m', 'sub');
    own.git('push', '--quiet', 'origin', 'HEAD');
    await expect(open().fetchSkill(reference({ repository: 'org/links', path: 'b' }))).rejects.toThrow(
      /"sub" is a submodule/,
    );
  });

  it('refuses too many files and too many bytes', async () => {
    const own = server.repository('org/big');
    own.commit(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}`, `${index}`.repeat(100)])));
    await expect(open({ maxFiles: 29 }).fetchSkill(reference({ repository: 'org/big' }))).rejects.toThrow(
      /30 files, at most 29/,
    );
    await expect(open({ maxBytes: 1_000 }).fetchSkill(reference({ repository: 'org/big' }))).rejects.toMatchObject({
      code: 'ERR_SKILLS_LOCK_INVALID_SKILL',
    });
  });

  it('names a folder that is not there', async () => {
    await expect(open().fetchSkill(reference({ path: 'no/such' }))).rejects.toThrow(/no folder "no\/such"/);
  });

  it('sends a token to the host it is for, and never shows it', async () => {
    server.authorizations.length = 0;
    await open({ env: { PATH: process.env.PATH, GIT_TOKEN: 'secret-token' } }).resolveCommit(reference());
    expect(server.authorizations.at(-1)).toBe(`Basic ${Buffer.from('x-access-token:secret-token').toString('base64')}`);
    server.authorizations.length = 0;
    await open({ env: { PATH: process.env.PATH, GITHUB_TOKEN: 'secret-token' } }).resolveCommit(reference());
    expect(new Set(server.authorizations)).toEqual(new Set([undefined]));
    server.fault = { status: 500 };
    await expect(
      open({ env: { PATH: process.env.PATH, GIT_TOKEN: 'secret-token' } }).resolveCommit(reference()),
    ).rejects.not.toThrow(/secret-token/);
  });

  it('asks nobody for a password', async () => {
    server.fault = { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } };
    await expect(open().resolveCommit(reference())).rejects.toMatchObject({
      code: 'ERR_SKILLS_LOCK_UNAUTHORIZED',
      message: expect.stringContaining('GITHUB_TOKEN') as string,
    });
  });

  it('follows no redirect', async () => {
    server.fault = {
      status: 302,
      headers: { location: `http://${server.host}/org/repo.git/info/refs?service=git-upload-pack` },
    };
    await expect(open().resolveCommit(reference())).rejects.toMatchObject({ code: 'ERR_SKILLS_LOCK_UNREACHABLE' });
  });

  it('ends a server that does not answer, and obeys its signal', async () => {
    const deaf = await import('node:net').then(({ createServer }) => createServer(() => undefined));
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(deaf.address() as { port: number }).port}`;
    await expect(open({ timeoutMs: 300 }).resolveCommit({ host, repository: 'a/b' })).rejects.toMatchObject({
      code: 'ERR_SKILLS_LOCK_TIMEOUT',
    });
    const controller = new AbortController();
    const pending = open().resolveCommit({ host, repository: 'a/b' }, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('stop')), 100);
    await expect(pending).rejects.toThrow('stop');
    deaf.close();
  });

  it('says what is missing when there is no git', async () => {
    await expect(open({ program: 'no-git-here' }).resolveCommit(reference())).rejects.toThrow(/install git/);
  });

  it('contacts no host that the guard refuses', async () => {
    server.authorizations.length = 0;
    await expect(
      open({ guard: { resolve: () => Promise.reject(new Error('private')) } }).fetchSkill(reference()),
    ).rejects.toThrow('private');
    expect(server.authorizations).toEqual([]);
  });
});
