import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SkillsLockError } from '../errors.js';
import { authorization, tokenFor } from './auth.js';
import type { GitTokens } from './auth.js';
import { formatGitReference, isCommit } from './reference.js';
import type { GitReference } from './reference.js';
import { runGit } from './run.js';
import type { GitRunOptions } from './run.js';

/** Decides whether a host may be contacted, and under which address. */
export interface HostGuard {
  /** Answers the addresses that were checked; throws for a private one. `host` has no port. */
  resolve(host: string, options: { readonly signal?: AbortSignal }): Promise<readonly string[]>;
}

/** What {@link createGitResolver} needs. */
export interface GitResolverOptions {
  readonly guard: HostGuard;
  /** Tokens, `PATH` and proxies. */
  readonly env: GitTokens & Readonly<Record<string, string | undefined>>;
  /**
   * Plain HTTP, for a development server on this machine. @defaultValue false
   */
  readonly plainHttp?: boolean;
  /** @defaultValue 120000 */
  readonly timeoutMs?: number;
  /** @defaultValue 104857600 */
  readonly maxBytes?: number;
  /** @defaultValue 1000 */
  readonly maxFiles?: number;
  /** @defaultValue 'git' */
  readonly program?: string;
}

/** A skill as it lies in a commit. */
export interface GitSkill {
  /** Full commit id. */
  readonly commit: string;
  /** The raw commit object, for the verification of its signature. */
  readonly commitObject: Buffer;
  /** Path below the skill's folder to content. */
  readonly files: ReadonlyMap<string, Buffer>;
}

/** Reads skills from git repositories. */
export interface GitResolver {
  /** The commit that a reference stands for now; asks the server, downloads nothing. */
  resolveCommit(reference: GitReference, options?: { readonly signal?: AbortSignal }): Promise<string>;
  /** Downloads a commit and reads the files of the skill; nothing is checked out. */
  fetchSkill(reference: GitReference, options?: { readonly signal?: AbortSignal }): Promise<GitSkill>;
}

interface TreeEntry {
  readonly mode: string;
  readonly object: string;
  readonly size: number;
  readonly path: Buffer;
}

/** A list of a thousand files with the longest paths is smaller. */
const MAX_LISTING_BYTES = 4 * 1024 * 1024;

/** A resolver that uses the `git` program, with hooks, filters, prompts and redirects off. */
export function createGitResolver(options: GitResolverOptions): GitResolver {
  const {
    timeoutMs = 120_000,
    maxBytes = 100 * 1024 * 1024,
    maxFiles = 1_000,
    program = 'git',
    plainHttp = false,
  } = options;

  async function transport(
    reference: GitReference,
    signal: AbortSignal | undefined,
  ): Promise<GitRunOptions & { url: string }> {
    const scheme = plainHttp ? 'http' : 'https';
    const url = new URL(`${scheme}://${reference.host}/${reference.repository}.git`);
    const hostname = url.hostname.replace(/^\[|\]$/g, '');
    const addresses = await options.guard.resolve(hostname, signal ? { signal } : {});
    const port = url.port === '' ? (plainHttp ? '80' : '443') : url.port;
    const config: [string, string][] = [
      [`protocol.${scheme}.allow`, 'always'],
      ['http.curloptResolve', `${hostname}:${port}:${addresses.join(',')}`],
    ];
    const token = tokenFor(url.hostname, options.env);
    if (token !== undefined) config.push([`http.${url.origin}/.extraHeader`, `Authorization: ${authorization(token)}`]);
    return {
      url: url.href,
      config,
      timeoutMs,
      maxOutputBytes: maxBytes,
      program,
      env: options.env,
      ...(signal ? { signal } : {}),
    };
  }

  async function resolveCommit(reference: GitReference, run: GitRunOptions & { url: string }): Promise<string> {
    if (reference.ref !== undefined && isCommit(reference.ref)) return reference.ref;
    const wanted =
      reference.ref === undefined
        ? ['HEAD']
        : [`refs/tags/${reference.ref}`, `refs/tags/${reference.ref}^{}`, `refs/heads/${reference.ref}`];
    const listing = await runGit(['ls-remote', '--', run.url, ...wanted], run);
    const refs = new Map(
      listing
        .toString()
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\t') as [string, string])
        .map(([object, name]) => [name, object]),
    );
    // A tag wins over a branch of its name, and an annotated tag stands for the commit it points at.
    const found =
      wanted.length === 1
        ? refs.get('HEAD')
        : (refs.get(wanted[1] ?? '') ?? refs.get(wanted[0] ?? '') ?? refs.get(wanted[2] ?? ''));
    if (found !== undefined && isCommit(found)) return found;
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_NOT_FOUND',
      `${formatGitReference(reference)}: the repository has no ${reference.ref === undefined ? 'default branch' : `tag or branch ${JSON.stringify(reference.ref)}`}`,
    );
  }

  return {
    async resolveCommit(reference, { signal } = {}) {
      return await resolveCommit(reference, await transport(reference, signal));
    },

    async fetchSkill(reference, { signal } = {}) {
      const run = await transport(reference, signal);
      const commit = await resolveCommit(reference, run);
      const folder = await mkdtemp(join(tmpdir(), 'thv-git-'));
      try {
        const local: GitRunOptions = { ...run, gitDir: folder };
        await runGit(
          ['init', '--quiet', '--bare', ...(commit.length === 64 ? ['--object-format=sha256'] : []), folder],
          { ...run },
        );
        const watch = async () =>
          (await folderBytes(folder)) > maxBytes
            ? `${formatGitReference(reference)}: the repository is larger than ${maxBytes} bytes`
            : undefined;
        await fetchCommit(commit, { ...local, watch, url: run.url });
        const commitObject = await runGit(['cat-file', 'commit', commit], local);
        return { commit, commitObject, files: await readFiles(reference, commit, local) };
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };

  /** Servers that do not hand out single commits get asked for everything. */
  async function fetchCommit(commit: string, run: GitRunOptions & { url: string }): Promise<void> {
    try {
      await runGit(['fetch', '--quiet', '--no-tags', '--depth=1', '--', run.url, commit], run);
    } catch (error) {
      if (!(error instanceof SkillsLockError) || error.code !== 'ERR_SKILLS_LOCK_UNREACHABLE') throw error;
      await runGit(['fetch', '--quiet', '--no-tags', '--', run.url, '+refs/*:refs/thv/*'], run);
    }
  }

  async function readFiles(
    reference: GitReference,
    commit: string,
    run: GitRunOptions,
  ): Promise<ReadonlyMap<string, Buffer>> {
    const place = reference.path === undefined ? commit : `${commit}:${reference.path}`;
    const listing = await runGit(['ls-tree', '-r', '-z', '--long', '--full-tree', place], {
      ...run,
      maxOutputBytes: MAX_LISTING_BYTES,
    }).catch((error: unknown) => {
      if (!(error instanceof SkillsLockError) || error.code !== 'ERR_SKILLS_LOCK_UNREACHABLE') throw error;
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_NOT_FOUND',
        `${formatGitReference(reference)}: the commit has no folder ${JSON.stringify(reference.path ?? '/')}`,
        { cause: error },
      );
    });
    const entries = parseTree(listing);
    checkTree(reference, entries, { maxFiles, maxBytes });
    const input = entries.map(({ object }) => `${object}\n`).join('');
    const blobs = await runGit(['cat-file', '--batch'], {
      ...run,
      input,
      maxOutputBytes: maxBytes + entries.length * 128,
    });
    return splitBatch(blobs, entries);
  }
}

function parseTree(listing: Buffer): readonly TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let start = 0; start < listing.length;) {
    const end = listing.indexOf(0, start);
    const tab = listing.indexOf(9, start);
    const [mode = '', , object = '', size = ''] = listing.toString('latin1', start, tab).split(/ +/);
    entries.push({ mode, object, size: Number(size), path: listing.subarray(tab + 1, end) });
    start = end + 1;
  }
  return entries;
}

function checkTree(
  reference: GitReference,
  entries: readonly TreeEntry[],
  limits: { maxFiles: number; maxBytes: number },
): void {
  const refuse = (why: string) =>
    new SkillsLockError('ERR_SKILLS_LOCK_INVALID_SKILL', `${formatGitReference(reference)}: ${why}`);
  if (entries.length > limits.maxFiles) throw refuse(`${entries.length} files, at most ${limits.maxFiles} are allowed`);
  let total = 0;
  for (const { mode, size, path } of entries) {
    const name = JSON.stringify(path.toString());
    if (mode === '120000') throw refuse(`${name} is a symbolic link; a skill holds regular files only`);
    if (mode === '160000') throw refuse(`${name} is a submodule; a skill holds regular files only`);
    if (mode !== '100644' && mode !== '100755' && mode !== '100664')
      throw refuse(`${name} has the unknown mode ${mode}`);
    total += size;
  }
  if (total > limits.maxBytes) throw refuse(`${total} bytes of files, at most ${limits.maxBytes} are allowed`);
}

/** `cat-file --batch` answers `<id> blob <size>\n<content>\n` for each line of its input, in order. */
function splitBatch(output: Buffer, entries: readonly TreeEntry[]): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  let position = 0;
  for (const { path, size } of entries) {
    const start = output.indexOf(10, position) + 1;
    files.set(path.toString(), output.subarray(start, start + size));
    position = start + size + 1;
  }
  return files;
}

async function folderBytes(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    names.map(async (name) => (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
