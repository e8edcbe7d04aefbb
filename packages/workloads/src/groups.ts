import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkloadsError } from './errors.js';
import { createFieldReader } from './field-reader.js';
import { hasCode, readJsonObject } from './json-file.js';
import { checkGroupName } from './names.js';
import type { Paths } from './paths.js';
import { defaultGroup } from './run-config.js';

/** A named set of workloads. */
export interface Group {
  readonly name: string;
  readonly registered_clients: readonly string[];
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

  return {
    exists,
    require,
    list: async () => Promise.all((await names()).map(async (name) => readGroup(name, pathOf(name)))),
    async create(name) {
      checkGroupName(name);
      await mkdir(paths.groups, { recursive: true, mode: 0o700 });
      const group: Group = { name, registered_clients: [] };
      try {
        if (name === defaultGroup) throw Object.assign(new Error('exists'), { code: 'EEXIST' });
        const file = await open(pathOf(name), 'wx', 0o600);
        try {
          await file.writeFile(`${JSON.stringify(group, null, 2)}\n`);
        } finally {
          await file.close();
        }
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
      await rm(pathOf(name), { force: true });
    },
  };
}

async function readGroup(name: string, path: string): Promise<Group> {
  const remedy = `correct or remove ${path}`;
  try {
    const fields = await readJsonObject(path, remedy);
    if (fields === undefined) return { name, registered_clients: [] };
    return { name, registered_clients: createFieldReader(fields, path, remedy).strings('registered_clients') };
  } catch (error) {
    // Membership lives in the run configurations, so that a broken file costs the client list alone.
    if (WorkloadsError.is(error)) return { name, registered_clients: [] };
    throw error;
  }
}
