import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkloadsError } from './errors.js';
import { createFieldReader } from './field-reader.js';
import { createJson, hasCode, readJsonObject, removeFile, writeJson } from './json-file.js';
import { checkGroupName } from './names.js';
import type { Paths } from './paths.js';
import { defaultGroup } from './run-config.js';

/** A named set of workloads. */
export interface Group {
  readonly name: string;
  readonly registered_clients: readonly string[];
  /** Names of Agent Skills; absent where there are none. */
  readonly skills?: readonly string[];
}

/** The groups of this user. The group `default` is always there. */
export interface GroupStore {
  /** Sorted by name. A broken file still gives its name. */
  list(): Promise<Group[]>;
  exists(name: string): Promise<boolean>;
  /** @throws WorkloadsError `ERR_WORKLOADS_NAME`, `ERR_WORKLOADS_GROUP_EXISTS` */
  create(name: string): Promise<Group>;
  /** @throws WorkloadsError `ERR_WORKLOADS_GROUP_NOT_FOUND`, `ERR_WORKLOADS_GROUP_DEFAULT` */
  remove(name: string): Promise<void>;
  /** @throws WorkloadsError `ERR_WORKLOADS_GROUP_NOT_FOUND` when there is no such group. */
  require(name: string): Promise<void>;
  /** Names of the skills of a group, sorted. */
  skillsOf(name: string): Promise<readonly string[]>;
  /** False when the skill was in the group already. @throws WorkloadsError `ERR_WORKLOADS_GROUP_NOT_FOUND` */
  addSkill(name: string, skill: string): Promise<boolean>;
  removeSkill(name: string, skill: string): Promise<void>;
  /** Removes a skill from every group. */
  removeSkillFromAll(skill: string): Promise<void>;
}

/** Opens the folder of groups; it is created on the first write. */
export function createGroupStore(paths: Pick<Paths, 'groups'>): GroupStore {
  const pathOf = (name: string): string => join(paths.groups, `${name}.json`);

  async function names(): Promise<string[]> {
    const entries = await readdir(paths.groups).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
    const found = entries.filter((entry) => entry.endsWith('.json')).map((entry) => entry.slice(0, -'.json'.length));
    return [...new Set([defaultGroup, ...found])].sort();
  }

  async function exists(name: string): Promise<boolean> {
    if (name === defaultGroup) return true;
    checkGroupName(name);
    return stat(pathOf(name)).then(
      () => true,
      () => false,
    );
  }

  async function require(name: string): Promise<void> {
    if (await exists(name)) return;
    throw new WorkloadsError('ERR_WORKLOADS_GROUP_NOT_FOUND', `group '${name}' does not exist`, {
      details: { name, hint: `thv group create ${name}` },
    });
  }

  async function skillsOf(name: string): Promise<readonly string[]> {
    await require(name);
    return (await readGroup(name, pathOf(name))).skills ?? [];
  }

  /** Other members of the file stay as they are, also those that this version does not know. */
  async function writeSkills(name: string, skills: readonly string[]): Promise<void> {
    const found = await readJsonObject(pathOf(name), `correct or remove ${pathOf(name)}`);
    const fields = found === undefined ? { name, registered_clients: [] } : Object.fromEntries(found);
    await writeJson(pathOf(name), { ...fields, skills: [...skills].sort() });
  }

  async function removeSkill(name: string, skill: string): Promise<void> {
    const skills = await skillsOf(name);
    if (!skills.includes(skill)) return;
    const rest = skills.filter((other) => other !== skill);
    await writeSkills(name, rest);
  }

  return {
    exists,
    require,
    skillsOf,
    removeSkill,
    async addSkill(name, skill) {
      const skills = await skillsOf(name);
      if (skills.includes(skill)) return false;
      await writeSkills(name, [...skills, skill]);
      return true;
    },
    async removeSkillFromAll(skill) {
      for (const name of await names()) await removeSkill(name, skill);
    },
    list: async () => Promise.all((await names()).map(async (name) => readGroup(name, pathOf(name)))),
    async create(name) {
      checkGroupName(name);
      const group: Group = { name, registered_clients: [] };
      try {
        if (name === defaultGroup) throw Object.assign(new Error('exists'), { code: 'EEXIST' });
        await createJson(pathOf(name), group);
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error;
        throw new WorkloadsError('ERR_WORKLOADS_GROUP_EXISTS', `group '${name}' already exists`, {
          details: { name, hint: 'thv group list' },
          cause: error,
        });
      }
      return group;
    },
    async remove(name) {
      if (name === defaultGroup) {
        throw new WorkloadsError('ERR_WORKLOADS_GROUP_DEFAULT', `cannot delete the ${defaultGroup} group`, {
          details: { name, hint: `thv rm --group ${defaultGroup} removes the servers in it` },
        });
      }
      await require(name);
      await removeFile(pathOf(name));
    },
  };
}

async function readGroup(name: string, path: string): Promise<Group> {
  const remedy = `correct or remove ${path}`;
  try {
    const fields = await readJsonObject(path, remedy);
    if (fields === undefined) return { name, registered_clients: [] };
    const reader = createFieldReader(fields, path, remedy);
    const skills = reader.strings('skills');
    return {
      name,
      registered_clients: reader.strings('registered_clients'),
      ...(skills.length > 0 ? { skills } : {}),
    };
  } catch (error) {
    // Membership lives in the run configurations, so that a broken file costs the client list alone.
    if (WorkloadsError.is(error)) return { name, registered_clients: [] };
    throw error;
  }
}
