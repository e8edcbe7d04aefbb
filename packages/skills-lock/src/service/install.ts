import { isAbsolute, relative, sep } from 'node:path';
import { SkillsLockError } from '../errors.js';
import { addParent, findEntry, putEntry } from '../lock/edit.js';
import { resolveScope } from '../project-root.js';
import type { InstallRequest, InstallResponse } from '../types.js';
import { isLocalPath, pathOf, resolveSource } from './candidate.js';
import type { ServiceContext } from './context.js';
import { toInstalledSkill, toProvenanceDto } from './dto.js';
import { installOne } from './install-one.js';
import type { InstallPlan, Installed } from './install-one.js';
import { exclusively, inTransaction } from './lock-session.js';
import type { Transaction } from './transaction.js';
import { translated } from './translate.js';

const MAX_DEPENDENCIES = 100;

/** Installs a skill and, in a project, what it needs. */
export async function install(
  context: ServiceContext,
  request: InstallRequest,
  signal?: AbortSignal,
): Promise<InstallResponse> {
  return await translated(async () => {
    const place = await resolveScope(request.scope, request.project_root, context.workingFolder);
    if (request.name.trim() === '')
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_ARGUMENT',
        'The name of the skill is empty; pass a name, a reference or a path',
      );
    const plan: InstallPlan = {
      source: lockableSource(context, request.name, place.projectRoot),
      candidate: await resolveSource(context, request.name, {
        ...(request.version ? { version: request.version } : {}),
        ...(signal ? { signal } : {}),
      }),
      place,
      ...(request.clients ? { clients: request.clients } : {}),
      ...(request.group === undefined ? {} : { group: request.group }),
      ...(request.public_key ? { publicKey: request.public_key } : {}),
      force: request.force ?? false,
      allowUnsigned: request.allow_unsigned ?? false,
      ...(signal ? { signal } : {}),
    };
    return await exclusively(
      context,
      place.projectRoot,
      () =>
        inTransaction(context, place.projectRoot, async (transaction) =>
          answer(await installTree(context, transaction, plan)),
        ),
      signal,
    );
  });
}

/** A relative path means something only together with a folder, and the one that everybody has is the project. */
function lockableSource(context: ServiceContext, source: string, projectRoot: string | undefined): string {
  if (projectRoot === undefined || !isLocalPath(source) || isAbsolute(source) || source.startsWith('~')) return source;
  const path = relative(projectRoot, pathOf(context, source)).split(sep).join('/');
  return path.startsWith('..') ? path : `./${path}`;
}

/** A skill with all that it needs, in one transaction: what fails late leaves nothing behind. */
export async function installTree(
  context: ServiceContext,
  transaction: Transaction,
  plan: InstallPlan,
): Promise<readonly Installed[]> {
  const installed = new Map<string, Installed>();
  await visit(context, transaction, plan, [], installed);
  return [...installed.values()];
}

async function visit(
  context: ServiceContext,
  transaction: Transaction,
  plan: InstallPlan,
  active: readonly string[],
  done: Map<string, Installed>,
): Promise<void> {
  const result = await installOne(context, transaction, { ...plan, active });
  const { name } = result.record;
  done.set(name, result);
  if (done.size > MAX_DEPENDENCIES + 1) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `${[...done.keys()][0]} needs more than ${MAX_DEPENDENCIES} skills; at most ${MAX_DEPENDENCIES} are installed with it`,
    );
  }
  const { projectRoot } = plan.place;
  const { requires } = result.loaded.skill;
  if (requires.length === 0) return;
  if (projectRoot === undefined) {
    done.set(name, {
      ...result,
      notices: [
        ...result.notices,
        `${name} needs ${requires.map(({ reference }) => reference).join(', ')}; user scope does not install what a skill needs, so install them yourself`,
      ],
    });
    return;
  }
  for (const { reference } of requires) {
    const candidate = await resolveSource(context, reference, {
      base: projectRoot,
      ...(plan.signal ? { signal: plan.signal } : {}),
    });
    const known = [...done.values()].find(
      ({ record }) => record.digest === candidate.digest && !active.includes(record.name) && record.name !== name,
    );
    if (known) {
      const child = known.record.name;
      await transaction.changeLock(projectRoot, (lock) => {
        const entry = findEntry(lock, child);
        return entry ? putEntry(lock, addParent(entry, name)) : lock;
      });
      continue;
    }
    // Neither the flag for unsigned skills nor a key is handed down: they were given for the one that was named.
    await visit(
      context,
      transaction,
      {
        source: reference,
        candidate,
        place: plan.place,
        parent: name,
        clients: result.record.clients,
        ...(plan.group === undefined ? {} : { group: plan.group }),
        ...(plan.force === undefined ? {} : { force: plan.force }),
        ...(plan.signal ? { signal: plan.signal } : {}),
      },
      [...active, name],
      done,
    );
  }
}

function answer(installed: readonly Installed[]): InstallResponse {
  const [first] = installed;
  if (!first)
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_STORE',
      'Nothing was installed; report this with the command that you ran',
    );
  const notices = installed.flatMap(({ notices: own }) => own);
  return {
    skill: toInstalledSkill(first.record),
    ...(first.trust.provenance ? { provenance: toProvenanceDto(first.trust.provenance) } : {}),
    ...(first.trust.unsigned ? { unsigned: true } : {}),
    ...(notices.length > 0 ? { notices } : {}),
  };
}
