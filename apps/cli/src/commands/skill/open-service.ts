import { join } from 'node:path';
import { createRegistry, defaultStoreDirectory, openStore } from '@thv/oci-skills';
import { createGitResolver, createHostGuard, createSkillService } from '@thv/skills-lock';
import type { SkillService, SkillStore } from '@thv/skills-lock';
import { createSkillClient } from '@thv/skills-lock/client';
import { openSqliteSkillStore } from '@thv/skills-lock/sqlite';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { openManager, pathsOf } from '../../workloads.js';

/** Calls `action` with the service of this machine, or of the server that `TOOLHIVE_API_URL` names, and closes it. */
export async function withSkills<T>(context: CliContext, action: (service: SkillService) => Promise<T>): Promise<T> {
  const baseUrl = context.env['TOOLHIVE_API_URL'];
  if (baseUrl !== undefined && baseUrl !== '') return await action(createSkillClient({ baseUrl }));
  const home = homeOf(context);
  const paths = pathsOf(context);
  const development = context.env['TOOLHIVE_DEV']?.toLowerCase() === 'true';
  const { env } = context;
  await using store = lazily(() => openSqliteSkillStore(join(paths.state, 'toolhive.db')));
  await using artifacts = await openStore(defaultStoreDirectory({ env, home }));
  await using registry = createRegistry({ env, home });
  const { groups } = openManager(context);
  return await action(
    createSkillService({
      store,
      artifacts,
      registry,
      git: createGitResolver({ guard: createHostGuard({ allowLoopback: development }), env, plainHttp: development }),
      groups,
      home,
      stateFolder: paths.state,
      workingFolder: context.cwd,
      env,
    }),
  );
}

/** Checking, building and publishing need no records, so that they work where SQLite does not. */
function lazily(open: () => Promise<SkillStore>): SkillStore {
  let opened: Promise<SkillStore> | undefined;
  const get = (): Promise<SkillStore> => (opened ??= open());
  const close = async (): Promise<void> => {
    await opened?.then(
      (store) => store.close(),
      () => undefined,
    );
  };
  return {
    list: async (filter) => (await get()).list(filter),
    get: async (key) => (await get()).get(key),
    put: async (record) => (await get()).put(record),
    delete: async (key) => (await get()).delete(key),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The home directory, below which clients keep their skills. */
export function homeOf({ env }: CliContext): string {
  const home = env['HOME'] ?? env['USERPROFILE'];
  if (home !== undefined && home !== '') return home;
  throw new CliError('ERR_CLI_USAGE', 'HOME is not set, so that the folders of clients cannot be found', {
    hint: 'HOME=/path/to/home thv skill …',
  });
}
