import { SkillsLockError } from '../errors.js';
import { findEntry } from '../lock/edit.js';
import { readLock } from '../lock/file.js';
import { resolveScope } from '../project-root.js';
import type { InstalledSkill, ListSkillsRequest, SkillInfoResponse, SkillSelector, SkillService } from '../types.js';
import { build, builds, content, push, removeBuild, validate } from './builds.js';
import { createContext, references } from './context.js';
import type { ServiceContext, SkillServiceOptions } from './context.js';
import { toInstalledSkill, toMetadata, toProvenanceDto } from './dto.js';
import { install } from './install.js';
import { sync } from './sync.js';
import { translated } from './translate.js';
import { requireName, uninstall } from './uninstall.js';
import { upgrade } from './upgrade.js';

/**
 * The skill service over its parts: what a command line and an HTTP API call. Methods reject with a
 * {@link SkillsLockError}, whose `status` is the HTTP status to answer.
 */
export function createSkillService(options: SkillServiceOptions): SkillService {
  const context = createContext(options);
  return {
    list: (request = {}) => list(context, request),
    install: (request, { signal } = {}) => install(context, request, signal),
    info: (selector) => info(context, selector),
    uninstall: (selector, { signal } = {}) => uninstall(context, selector, signal),
    validate: (request, { signal } = {}) => validate(context, request, signal),
    build: (request, { signal } = {}) => build(context, request, signal),
    push: (request, { signal } = {}) => push(context, request, signal),
    builds: ({ signal } = {}) => builds(context, signal),
    removeBuild: (tag, { signal } = {}) => removeBuild(context, tag, signal),
    content: (reference, { signal } = {}) => content(context, reference, signal),
    sync: (request, { signal } = {}) => sync(context, request, signal),
    upgrade: (request, { signal } = {}) => upgrade(context, request, signal),
  };
}

async function list(context: ServiceContext, request: ListSkillsRequest): Promise<readonly InstalledSkill[]> {
  return await translated(async () => {
    const anywhere = !request.scope && !request.project_root;
    const place = anywhere ? undefined : await resolveScope(request.scope, request.project_root, context.workingFolder);
    const records = await context.store.list({
      ...(place ? { scope: place.scope } : {}),
      ...(place?.projectRoot === undefined ? {} : { projectRoot: place.projectRoot }),
      ...(request.client ? { client: request.client } : {}),
    });
    if (!request.group) return records.map(toInstalledSkill);
    if (!context.groups || !(await context.groups.exists(request.group))) {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_NOT_FOUND',
        `Group ${JSON.stringify(request.group)} does not exist; "thv group list" shows the groups`,
      );
    }
    const names = new Set(await context.groups.skillsOf(request.group));
    return records.filter(({ name }) => names.has(name)).map(toInstalledSkill);
  });
}

async function info(context: ServiceContext, selector: SkillSelector): Promise<SkillInfoResponse> {
  return await translated(async () => {
    requireName(selector.name);
    const place = await resolveScope(selector.scope, selector.project_root, context.workingFolder);
    const record = await context.store.get({
      name: selector.name,
      scope: place.scope,
      projectRoot: place.projectRoot ?? '',
    });
    if (!record)
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_NOT_FOUND',
        `No skill ${JSON.stringify(selector.name)} is installed there; "thv skill list" shows what is`,
      );
    const entry =
      place.projectRoot === undefined
        ? undefined
        : findEntry(await readLock(place.projectRoot, { references }), selector.name);
    return {
      metadata: toMetadata(record),
      installed_skill: toInstalledSkill(record),
      ...(entry?.provenance ? { provenance: toProvenanceDto(entry.provenance) } : {}),
      ...(entry?.unsigned ? { unsigned: true } : {}),
    };
  });
}
