import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyPair } from '@thv/oci-skills';
import { openTemporaryHome } from '@thv/doubles';
import type { TemporaryHome } from '@thv/doubles';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startRegistry } from '../../../packages/oci-skills/test/support/registry.js';
import type { TestRegistry } from '../../../packages/oci-skills/test/support/registry.js';
import { runInProcess } from './support/in-process.js';
import type { Finished, InProcessCommand } from './support/in-process.js';

let home: TemporaryHome;
let folder = '';
let project = '';
let registry: TestRegistry;

beforeEach(async () => {
  home = await openTemporaryHome();
  registry = await startRegistry();
  folder = mkdtempSync(join(tmpdir(), 'thv-cli-skills-'));
  project = join(folder, 'project');
  mkdirSync(join(home.home, '.claude'));
  execFileSync('git', ['init', '--quiet', project]);
});
afterEach(async () => {
  await registry.close();
  await home.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs `thv skill …` in the project, talking plain HTTP to registries of this machine. */
const skill = (args: readonly string[], options: Partial<InProcessCommand> = {}): Promise<Finished> =>
  runInProcess({
    args: ['skill', ...args],
    cwd: project,
    self: ['/nowhere'],
    ...options,
    env: { ...home.env, PATH: process.env.PATH ?? '', TOOLHIVE_DEV: 'true', ...options.env },
  });

const write = (name: string, version: string): string => {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  writeFileSync(
    join(path, 'SKILL.md'),
    `---\nname: ${name}\ndescription: Does it.\nversion: ${version}\n---\n# ${name}\n`,
  );
  return path;
};

async function publish(name: string, version: string, ...signing: readonly string[]): Promise<string> {
  const reference = `${registry.host}/acme/${name}:latest`;
  expect(await skill(['build', write(name, version), '-t', reference])).toMatchObject({
    code: 0,
    stdout: `${reference}\n`,
  });
  expect(await skill(['push', reference, ...signing])).toMatchObject({ code: 0 });
  expect(await skill(['builds', 'remove', reference])).toMatchObject({
    code: 0,
    stdout: `Removed build ${reference}\n`,
  });
  return reference;
}

describe('thv skill', () => {
  it('creates a skill that is valid as it is, and no second one in its place', async () => {
    expect(await skill(['init', 'my-skill'])).toMatchObject({
      code: 0,
      stdout: `Created ${join(project, 'my-skill/SKILL.md')}\n`,
    });
    expect(await skill(['validate', 'my-skill', '--strict'])).toMatchObject({
      stdout: expect.stringMatching(/valid/) as string,
    });
    expect(await skill(['validate', 'my-skill'])).toMatchObject({ code: 0, stdout: 'Skill is valid\n' });
    expect(await skill(['init', 'my-skill'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('exists already') as string,
    });
    expect(await skill(['init', 'My_Skill'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Try: thv skill init my-skill') as string,
    });
  });

  it('shows what is wrong with path, line and column', async () => {
    writeFileSync(join(write('demo', '1.0.0'), 'SKILL.md'), '---\nname: demo\ndescription: fix: it\n---\n');
    const text = await skill(['validate', '../demo']);
    expect(text.code).toBe(1);
    expect(text.stdout).toMatch(/^\.\.\/demo\/SKILL\.md:3:\d+: error /m);
    const json = await skill(['validate', '../demo', '--format', 'json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ valid: false });
  });

  it('goes the whole way with a key: build, push, install, tamper, check, sync, upgrade, uninstall', async () => {
    const keys = await createKeyPair({ password: 'secret' });
    writeFileSync(join(folder, 'cosign.key'), keys.privateKey);
    writeFileSync(join(folder, 'cosign.pub'), keys.publicKey);
    const env = { COSIGN_PASSWORD: 'secret' };
    const signed = ['--key', '../cosign.key'] as const;
    const reference = `${registry.host}/acme/demo:latest`;
    await skill(['build', write('demo', '1.0.0'), '--tag', reference]);
    expect(await skill(['push', reference, ...signed])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('COSIGN_PASSWORD') as string,
    });
    expect(await skill(['push', reference, ...signed], { env })).toMatchObject({
      code: 0,
      stdout: `Pushed ${reference}\n`,
    });
    await skill(['builds', 'remove', reference]);
    expect(await skill(['install', reference, '--scope', 'project'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--public-key') as string,
    });
    expect(await skill(['install', reference, '--scope', 'project', '--public-key', '../nowhere.pub'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nowhere.pub') as string,
    });
    const installed = await skill(['install', reference, '--scope', 'project', '--public-key', '../cosign.pub']);
    expect(installed).toMatchObject({
      code: 0,
      stdout: 'Installed demo (signed by a cosign key pair; the pinned public key is in the lock file)\n',
    });
    const file = join(project, '.claude/skills/demo/SKILL.md');
    expect(await skill(['sync', '--check'])).toMatchObject({ code: 0, stdout: 'Up to date:\n  demo\n' });
    writeFileSync(file, 'tampered');
    expect(await skill(['sync', '--check'])).toMatchObject({ code: 2, stdout: 'Drifted:\n  demo\n' });
    expect(await skill(['sync'])).toMatchObject({ code: 4, stdout: '' });
    expect(readFileSync(file, 'utf8')).toBe('tampered');
    expect(await skill(['sync', '--yes'])).toMatchObject({ code: 0, stdout: 'Repaired:\n  demo\n' });
    expect(await skill(['upgrade', '--fail-on-changes'])).toMatchObject({ code: 0, stdout: 'demo: up to date\n' });
    await skill(['build', write('demo', '2.0.0'), '--tag', reference]);
    await skill(['push', reference, ...signed], { env });
    expect(await skill(['upgrade', '--preview'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^demo: would upgrade sha256:\w+ -> sha256:\w+\n$/) as string,
    });
    expect(await skill(['upgrade', '--fail-on-changes'])).toMatchObject({ code: 2 });
    expect(await skill(['upgrade', 'demo'], { input: 'n\n', isTty: true })).toMatchObject({
      code: 0,
      stdout: 'Upgrade cancelled.\n',
      stderr: expect.stringMatching(/demo: would upgrade sha256:\w+ -> sha256:\w+[^]*Upgrade skills for/) as string,
    });
    expect(await skill(['upgrade', 'demo', '-y'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('demo: upgraded') as string,
    });
    expect(await skill(['info', 'demo', '--scope', 'project'])).toMatchObject({
      stdout: expect.stringMatching(/Version: +2\.0\.0[\s\S]*Public key:/) as string,
    });
    expect(await skill(['uninstall', 'demo', '--scope', 'project'])).toMatchObject({
      code: 0,
      stdout: 'Uninstalled demo\n',
    });
    expect(existsSync(join(project, '.claude'))).toBe(false);
  });

  it('asks before it changes a project, shows what it is about, and takes no for an answer', async () => {
    const reference = await publish('demo', '1.0.0', '--no-sign');
    await skill(['install', reference, '--project-root', project, '--allow-unsigned', '--clients', 'claude-code']);
    rmSync(join(project, '.claude'), { recursive: true });
    const no = await skill(['sync'], { input: 'n\n', isTty: true });
    expect(no).toMatchObject({ code: 0, stdout: 'Sync cancelled.\n' });
    expect(no.stderr).toMatch(/demo {2}.*demo:latest {2}sha256:\w{12}… {2}unsigned/);
    expect(existsSync(join(project, '.claude'))).toBe(false);
    expect(await skill(['sync', '--project-root', project])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`Try: thv skill sync --yes --project-root ${project}`) as string,
    });
  });

  it('warns of a lock entry that says nothing of trust', async () => {
    const reference = await publish('demo', '1.0.0', '--no-sign');
    await skill(['install', reference, '--project-root', project, '--allow-unsigned', '--clients', 'claude-code']);
    const lock = join(project, 'toolhive.lock.yaml');
    const warning = expect.stringContaining('demo: the lock file names no signer') as string;
    expect((await skill(['sync', '--check'])).stderr).not.toContain('names no signer');
    writeFileSync(lock, readFileSync(lock, 'utf8').replace('unsigned: true', 'unsigend: true'));
    expect(await skill(['sync', '--check'])).toMatchObject({ code: 0, stderr: warning });
    expect(await skill(['upgrade', '--preview'])).toMatchObject({ code: 0, stderr: warning });
    rmSync(join(project, '.claude'), { recursive: true });
    expect(await skill(['sync', '--yes'])).toMatchObject({ code: 0, stderr: warning });
    expect(readFileSync(lock, 'utf8')).toContain('unsigned: true');
    expect((await skill(['sync', '--check'])).stderr).not.toContain('names no signer');
  });

  it('blocks a signer that is gone until somebody allows it', async () => {
    const keys = await createKeyPair({ password: '' });
    writeFileSync(join(folder, 'cosign.key'), keys.privateKey);
    writeFileSync(join(folder, 'cosign.pub'), keys.publicKey);
    const reference = await publish('demo', '1.0.0', '--key', '../cosign.key');
    await skill(['install', reference, '--scope', 'project', '--public-key', '../cosign.pub']);
    await publish('demo', '2.0.0', '--no-sign');
    expect(await skill(['upgrade', '--yes'])).toMatchObject({
      code: 4,
      stdout: 'demo: signer change blocked (candidate is unsigned; use --allow-signer-change)\n',
    });
    expect(await skill(['upgrade', '--yes', '--allow-signer-change'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no longer signed') as string,
    });
  });

  it('lists, filters and describes as text and JSON', async () => {
    expect(await skill(['list'])).toMatchObject({ code: 0, stdout: 'No skills installed\n' });
    expect(JSON.parse((await skill(['list', '--format', 'json'])).stdout)).toEqual([]);
    expect(await skill(['builds'])).toMatchObject({ code: 0, stdout: 'No locally-built skill artifacts found\n' });
    await skill(['install', write('demo', '1.0.0'), '--clients', 'codex,goose']);
    expect((await skill(['ls'])).stdout.split('\n')[0]).toMatch(/^NAME +VERSION +SCOPE +STATUS +CLIENTS +REFERENCE$/);
    expect(await skill(['list', '--client', 'cursor'])).toMatchObject({ stdout: 'No skills found matching filters\n' });
    const [found] = JSON.parse((await skill(['list', '--format', 'json'])).stdout) as {
      metadata: object;
      clients: string[];
    }[];
    expect(found).toMatchObject({
      metadata: { name: 'demo' },
      clients: ['codex', 'goose'],
      scope: 'user',
      status: 'installed',
    });
    expect((await skill(['content', '../demo'])).stdout).toContain('# demo');
  });

  it('reports what went wrong skill by skill, with the exit code of an operation', async () => {
    const reference = await publish('demo', '1.0.0', '--no-sign');
    await skill(['install', reference, '--scope', 'project', '--allow-unsigned']);
    rmSync(join(project, '.claude'), { recursive: true });
    await registry.close();
    const failed = await skill(['sync', '--yes']);
    expect(failed).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('demo [registry-unreachable]: ') as string,
    });
    registry = await startRegistry();
  });

  it.each([
    [['install'], 1, /missing required argument/],
    [['install', 'x', '--scope', 'planet'], 1, /Expected one of user, project/],
    [['install', './nowhere'], 1, /nowhere/],
    [['uninstall', 'ghost'], 1, /No skill "ghost" is installed/],
    [['info', 'ghost'], 1, /No skill "ghost"/],
    [['push', 'registry.example/acme/x:1'], 1, /--key PATH.*--no-sign/],
    [['push', 'registry.example/acme/x:1', '--no-sign'], 1, /build it first/],
    [['builds', 'remove', 'ghost'], 1, /No local build/],
    [['upgrade', 'ghost', '--yes'], 1, /not in the lock file/],
    [['instal'], 1, /install/],
  ])('%j fails with %d and says why', async (args, code, message) => {
    const result = await skill(args);
    expect(result.code).toBe(code);
    expect(result.stderr).toMatch(message);
    expect(result.stderr.trimEnd().split('\n').at(-1)).toMatch(/^Try: /);
    expect(result.stdout).toBe('');
  });

  it('needs a project for sync, and says how to name one', async () => {
    const result = await skill(['sync', '--check'], { cwd: folder });
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('--project-root') as string });
  });

  it('wraps errors in JSON when JSON is asked for', async () => {
    const result = await skill(['info', 'ghost', '--format', 'json']);
    expect(JSON.parse(result.stderr)).toMatchObject({ error: { code: 'ERR_SKILLS_LOCK_NOT_FOUND' } });
  });
});
