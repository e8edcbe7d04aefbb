import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createRegistry, openStore } from '@thv/oci-skills';
import type { Registry, SkillStore as ArtifactStore, TrustOptions } from '@thv/oci-skills';
import { createGitResolver, createSkillService, parseLock, references } from '../../src/index.js';
import type { Catalogue, Groups, LockFile, SkillService } from '../../src/index.js';
import { createSkillClient } from '../../src/client.js';
import { openSqliteSkillStore } from '../../src/sqlite.js';
import { serveSkills } from './http-api.js';
import type { SkillStore } from '../../src/index.js';

/** A home, a project and a service over real parts, all below one temporary folder. */
export interface Bench extends AsyncDisposable {
  readonly root: string;
  readonly home: string;
  readonly project: string;
  readonly store: SkillStore;
  readonly artifacts: ArtifactStore;
  readonly registry: Registry;
  readonly service: SkillService;
  readonly groups: MemoryGroups;
  /** Text of the lock file; empty where there is none. */
  lockText(): string;
  lock(): LockFile;
  /** Writes a skill below the root and answers its folder. */
  skill(
    name: string,
    options?: {
      readonly version?: string;
      readonly requires?: readonly string[];
      readonly files?: Readonly<Record<string, string>>;
      readonly body?: string;
    },
  ): string;
  /** Files below home and project, relative and sorted, state and `.git` left out. */
  files(): readonly string[];
  read(path: string): string;
}

export interface MemoryGroups extends Groups {
  readonly members: Map<string, Set<string>>;
}

export interface BenchOptions {
  readonly catalogue?: Catalogue;
  readonly trust?: TrustOptions;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether calls go straight to the service, or through the HTTP client. @defaultValue 'service' */
  readonly via?: 'service' | 'client';
  /** Another bench's root, for a second process. */
  readonly root?: string;
}

/** Clients whose marks exist in the home of a bench. */
const INSTALLED = ['.claude', '.cursor'];

export async function openBench(options: BenchOptions = {}): Promise<Bench> {
  const root = options.root ?? mkdtempSync(join(tmpdir(), 'thv-skills-'));
  const home = join(root, 'users', 'me');
  const project = join(root, 'users', 'me', 'work', 'project');
  for (const folder of [...INSTALLED.map((name) => join(home, name)), join(project, '.git')])
    mkdirSync(folder, { recursive: true });
  const env = { PATH: process.env.PATH, ...options.env };
  const store = await openSqliteSkillStore(join(root, 'state', 'toolhive.db'));
  const artifacts = await openStore(join(root, 'data', 'skills'));
  const registry = createRegistry({ env, allowLoopback: true, maxRetries: 0 });
  const groups = memoryGroups();
  const direct = createSkillService({
    store,
    artifacts,
    registry,
    git: createGitResolver({ guard: { resolve: () => Promise.resolve(['127.0.0.1']) }, env, plainHttp: true }),
    groups,
    home,
    stateFolder: join(root, 'state'),
    workingFolder: root,
    env,
    ...(options.catalogue ? { catalogue: options.catalogue } : {}),
    ...(options.trust ? { trust: options.trust } : {}),
  });
  const api = options.via === 'client' ? await serveSkills(direct) : undefined;
  const service = api ? createSkillClient({ baseUrl: api.url }) : direct;
  const lockPath = join(project, 'toolhive.lock.yaml');
  const lockText = () => (existsSync(lockPath) ? readFileSync(lockPath, 'utf8') : '');
  return {
    root,
    home,
    project,
    store,
    artifacts,
    registry,
    service,
    groups,
    lockText,
    lock: () => parseLock(lockText(), { path: lockPath, references }),
    skill: (name, { version = '1.0.0', requires = [], files = {}, body = 'Do it.' } = {}) => {
      const folder = join(root, 'sources', name);
      rmSync(folder, { recursive: true, force: true });
      write(join(folder, 'SKILL.md'), skillFile(name, version, requires, body));
      for (const [path, content] of Object.entries(files)) write(join(folder, path), content);
      return folder;
    },
    files: () =>
      readdirSync(home, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(home.length + 1))
        .filter((path) => !path.includes('.git/'))
        .toSorted(),
    read: (path) => readFileSync(join(home, path), 'utf8'),
    [Symbol.asyncDispose]: async () => {
      await api?.close();
      await store.close();
      await artifacts.close();
      await registry.close();
      if (options.root === undefined) rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Text of a SKILL.md. */
export function skillFile(name: string, version = '1.0.0', requires: readonly string[] = [], body = 'Do it.'): string {
  const needs =
    requires.length === 0 ? '' : `toolhive.requires:\n${requires.map((reference) => `  - ${reference}\n`).join('')}`;
  return `---\nname: ${name}\ndescription: Does ${name}.\nversion: ${version}\n${needs}metadata:\n  author: acme\n---\n# ${name}\n\n${body}\n`;
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

function memoryGroups(): MemoryGroups {
  const members = new Map<string, Set<string>>([
    ['default', new Set()],
    ['team', new Set()],
  ]);
  return {
    members,
    exists: (group) => Promise.resolve(members.has(group)),
    skillsOf: (group) => Promise.resolve([...(members.get(group) ?? [])]),
    addSkill: (group, skill) => {
      const there = members.get(group)?.has(skill) ?? false;
      members.get(group)?.add(skill);
      return Promise.resolve(!there);
    },
    removeSkill: (group, skill) => {
      members.get(group)?.delete(skill);
      return Promise.resolve();
    },
    removeSkillFromAll: (skill) => {
      for (const skills of members.values()) skills.delete(skill);
      return Promise.resolve();
    },
  };
}
