import { SkillsLockError } from '../errors.js';

/** A skill in a git repository: `git://host[:port]/owner/repo[@ref][#path]`. */
export interface GitReference {
  /** Host in lower case, with the port where one was given. */
  readonly host: string;
  /** `owner/repo`, perhaps with groups between. */
  readonly repository: string;
  /** Branch, tag or commit; `undefined` for the default branch. */
  readonly ref?: string;
  /** Folder of the skill inside the repository; `undefined` for its root. */
  readonly path?: string;
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** True when a ref is a full commit, which never moves. */
export const isCommit = (ref: string | undefined): boolean => ref !== undefined && COMMIT.test(ref);

/** True for text that is meant as a git reference. */
export const looksLikeGit = (text: string): boolean => /^(?:git|https):\/\//.test(text);

/**
 * Reads a git reference. `https://` is taken for the same thing; a path such as `/tree/main/skills/x`, as code
 * hosts show it in a browser, is understood. Whether the host may be contacted is decided later.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_ARGUMENT`.
 */
export function parseGitReference(text: string): GitReference {
  const refuse = (why: string) =>
    new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      `${JSON.stringify(text)} is no git reference: ${why}. Write git://host/owner/repo@ref#path`,
    );
  if (/^(?:ssh:\/\/|[\w.-]+@[\w.-]+:)/.test(text)) throw refuse('ssh addresses are not supported');
  const scheme = /^(git|https):\/\//.exec(text)?.[0];
  if (scheme === undefined) throw refuse('it must start with git:// or https://');
  if (text.length > 512) throw refuse('it is longer than 512 characters');
  const [beforePath = '', ...pathParts] = text.slice(scheme.length).split('#');
  const [location = '', ...refParts] = beforePath.split('@');
  const [host = '', ...segments] = location.split('/');
  if (segments.at(-1) === '') segments.pop();
  const browsed = splitBrowserPath(segments);
  checkHost(host, refuse);
  const repository = browsed.repository.map((segment) => segment.replace(/\.git$/, ''));
  if (repository.length < 2) throw refuse('owner and repository are missing');
  for (const segment of repository) {
    if (!/^[\w.~-]+$/.test(segment) || segment === '.' || segment === '..')
      throw refuse(`${JSON.stringify(segment)} is no part of a repository path`);
  }
  const ref = refParts.length > 0 ? refParts.join('@') : browsed.ref;
  const path = pathParts.length > 0 ? pathParts.join('#') : browsed.path;
  if (ref !== undefined) checkRef(ref, refuse);
  if (path !== undefined) checkPath(path, refuse);
  return {
    host: host.toLowerCase(),
    repository: repository.join('/'),
    ...(ref === undefined ? {} : { ref }),
    ...(path === undefined ? {} : { path }),
  };
}

/** The text of a reference in its one canonical form. */
export function formatGitReference({ host, repository, ref, path }: GitReference): string {
  return `git://${host}/${repository}${ref === undefined ? '' : `@${ref}`}${path === undefined ? '' : `#${path}`}`;
}

/** The name that a skill at this reference is expected to have: the last folder, or the repository. */
export function expectedName({ repository, path }: GitReference): string {
  return (path ?? repository).split('/').at(-1) ?? '';
}

type Refuse = (why: string) => SkillsLockError;

function splitBrowserPath(segments: readonly string[]): { repository: readonly string[]; ref?: string; path?: string } {
  const at = segments.findIndex(
    (segment, index) => index >= 2 && (segment === 'tree' || segment === 'blob') && segments.length > index + 1,
  );
  if (at < 0) return { repository: segments };
  const dash = segments[at - 1] === '-';
  const path = segments
    .slice(at + 2)
    .join('/')
    .replace(/\/?SKILL\.md$/, '');
  return {
    repository: segments.slice(0, dash ? at - 1 : at),
    ref: segments[at + 1] ?? '',
    ...(path === '' ? {} : { path }),
  };
}

function checkHost(host: string, refuse: Refuse): void {
  if (!/^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?$/.test(host)) {
    throw refuse(host === '' ? 'the host is missing' : `${JSON.stringify(host)} is no host`);
  }
}

function checkRef(ref: string, refuse: Refuse): void {
  const wrong =
    !/^[\w./-]+$/.test(ref) ||
    ref.includes('..') ||
    ref.includes('//') ||
    ref.startsWith('-') ||
    ref.startsWith('/') ||
    ref.endsWith('/') ||
    ref.endsWith('.lock');
  if (wrong) throw refuse(`${JSON.stringify(ref)} is no branch, tag or commit`);
}

function checkPath(path: string, refuse: Refuse): void {
  const segments = path.split('/');
  // A control character repaints a terminal, and no skill needs one.
  const wrong =
    path.length > 255 ||
    /[\\\u0000-\u001F\u007F]/.test(path) ||
    segments.some((segment) => ['', '.', '..'].includes(segment));
  if (wrong) throw refuse(`${JSON.stringify(path)} is no relative path inside a repository`);
}
