import { join } from 'node:path';
import { SkillsLockError } from './errors.js';

/** Where a skill is for: the user's home, or one project. */
export type Scope = 'user' | 'project';

/** An AI client that reads skills from a folder. */
export interface SkillClient {
  readonly id: string;
  /** Folder of skills below the home directory, with `/`. */
  readonly userFolder: string;
  /** Folder of skills below the root of a project, with `/`. */
  readonly projectFolder: string;
  /** Files or folders below the home directory whose presence says that the client is installed. */
  readonly marks: readonly string[];
}

const client = (
  id: string,
  folder: string,
  options: { user?: string; marks?: readonly string[] } = {},
): SkillClient => ({
  id,
  userFolder: options.user ?? folder,
  projectFolder: folder,
  marks: options.marks ?? [(options.user ?? folder).split('/').slice(0, -1).join('/')],
});

const SHARED = '.agents/skills';

/** Every client that reads skills, in the order of their names in messages. */
export const skillClients: readonly SkillClient[] = [
  client('claude-code', '.claude/skills', { marks: ['.claude.json', '.claude'] }),
  client('cursor', '.cursor/skills'),
  client('vscode', '.github/skills', {
    user: '.copilot/skills',
    marks: ['.config/Code/User', 'Library/Application Support/Code/User', 'AppData/Roaming/Code/User'],
  }),
  client('vscode-insider', '.github/skills', {
    user: '.copilot/skills',
    marks: [
      '.config/Code - Insiders/User',
      'Library/Application Support/Code - Insiders/User',
      'AppData/Roaming/Code - Insiders/User',
    ],
  }),
  client('roo-code', '.roo/skills'),
  client('cline', '.cline/skills'),
  client('windsurf', '.windsurf/skills', { user: '.codeium/windsurf/skills' }),
  client('amp-cli', SHARED, { marks: ['.config/amp'] }),
  client('goose', SHARED, { marks: ['.config/goose'] }),
  client('trae', SHARED, { marks: ['.trae', '.config/Trae', 'Library/Application Support/Trae'] }),
  client('antigravity', SHARED, { marks: ['.gemini/antigravity'] }),
  client('gemini-cli', SHARED, { marks: ['.gemini/settings.json', '.gemini'] }),
  client('codex', SHARED, { marks: ['.codex'] }),
  client('opencode', '.opencode/skills', { user: '.config/opencode/skills', marks: ['.config/opencode'] }),
  client('kiro', '.kiro/skills'),
  client('mistral-vibe', '.vibe/skills'),
  client('kimi-cli', '.kimi/skills'),
  client('factory', '.factory/skills'),
  client('qoder', '.qoder/skills'),
];

const byId = new Map(skillClients.map((entry) => [entry.id, entry]));

/** Where a client's skills lie. */
export interface ClientPlace {
  readonly scope: Scope;
  /** Absolute. */
  readonly home: string;
  /** Absolute; needed for project scope. */
  readonly projectRoot?: string;
  /** @defaultValue 'linux' rules, which all but Windows share */
  readonly platform?: NodeJS.Platform;
}

/**
 * The folder that holds the skills of a client.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_ARGUMENT` for an unknown client, or a project scope without a root.
 */
export function skillsFolder(id: string, place: ClientPlace): string {
  const found = requireClient(id);
  if (place.scope === 'project') {
    if (place.projectRoot === undefined) {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_ARGUMENT',
        'Project scope needs the root of a project; pass --project-root or run inside a git work tree',
      );
    }
    return join(place.projectRoot, ...found.projectFolder.split('/'));
  }
  const folder = id === 'opencode' && place.platform === 'win32' ? 'opencode/skills' : found.userFolder;
  return join(place.home, ...folder.split('/'));
}

/** The folder of one skill of a client; throws as {@link skillsFolder}. */
export const skillFolder = (id: string, name: string, place: ClientPlace): string =>
  join(skillsFolder(id, place), name);

/**
 * Turns what a caller asked for into client ids. Nothing and `all` mean every client that `isInstalled` finds.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_ARGUMENT`.
 */
export function resolveClients(
  requested: readonly string[] | undefined,
  isInstalled: (client: SkillClient) => boolean,
): readonly string[] {
  const names = (requested ?? []).map((name) => name.trim());
  if (names.includes(''))
    throw new SkillsLockError('ERR_SKILLS_LOCK_ARGUMENT', `A client name is empty; known are ${known()}`);
  const all = names.some((name) => name.toLowerCase() === 'all');
  if (all && names.length > 1)
    throw new SkillsLockError('ERR_SKILLS_LOCK_ARGUMENT', '"all" stands alone: name clients, or pass "all"');
  if (names.length > 0 && !all) {
    const unique = [...new Set(names)];
    if (unique.length !== names.length)
      throw new SkillsLockError('ERR_SKILLS_LOCK_ARGUMENT', `A client is named twice in ${names.join(', ')}`);
    return unique.map((name) => requireClient(name).id);
  }
  const installed = skillClients.filter((entry) => isInstalled(entry)).map(({ id }) => id);
  if (installed.length > 0) return installed;
  throw new SkillsLockError(
    'ERR_SKILLS_LOCK_ARGUMENT',
    `No client that reads skills was found on this machine; name one with --clients: ${known()}`,
  );
}

function requireClient(id: string): SkillClient {
  const found = byId.get(id);
  if (found) return found;
  throw new SkillsLockError(
    'ERR_SKILLS_LOCK_ARGUMENT',
    `${JSON.stringify(id)} is no client that reads skills; known are ${known()}`,
  );
}

const known = (): string => skillClients.map(({ id }) => id).join(', ');
