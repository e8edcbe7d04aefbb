import { isAbsolute, resolve as resolvePath } from 'node:path';
import {
  createTreeGuard,
  formatReference,
  isReference,
  packSkill,
  parseReference,
  parseSkill,
  readLayer,
  contentDigest,
} from '@thv/oci-skills';
import type { CatalogueProvenance, Reference, Skill, SkillArtifact, SkillFileContent } from '@thv/oci-skills';
import { SkillsLockError } from '../errors.js';
import { expectedName, formatGitReference, isCommit, looksLikeGit, parseGitReference } from '../git/reference.js';
import type { GitReference } from '../git/reference.js';
import { isSkillName, SKILL_NAME_RULE } from '../skill-name.js';
import { findInCatalogue } from './catalogue.js';
import { mayBeCatalogueName } from './context.js';
import type { ServiceContext } from './context.js';

/** A skill with all its files in memory, checked against its digests. */
export interface LoadedSkill {
  readonly skill: Skill;
  readonly files: readonly SkillFileContent[];
  readonly contentDigest: string;
  /** For git: the commit object, which may carry a signature. */
  readonly commitObject?: Uint8Array;
}

/** What a source stands for at this moment. */
export interface Candidate {
  readonly kind: 'oci' | 'git' | 'local-build' | 'local-path';
  /** Full reference; empty for a local build whose tag is none, and for a local path. */
  readonly reference: string;
  readonly tag: string;
  /** The pin: a manifest digest or a commit. */
  readonly digest: string;
  /** Where the reference names a skill: the last part of a repository or folder. */
  readonly expectedName?: string;
  /** What the catalogue, where the name came from there, says about the signer. */
  readonly catalogue?: CatalogueProvenance;
  readonly notices: readonly string[];
  /** For git: the reference without its pin. */
  readonly git?: GitReference;
  readonly oci?: Reference;
  load(): Promise<LoadedSkill>;
}

/** Narrows what {@link resolveSource} considers. */
export interface ResolveOptions {
  readonly version?: string;
  /** False where a plain name must come from the catalogue, as on upgrade. @defaultValue true */
  readonly localBuilds?: boolean;
  /** What a relative path is relative to. @defaultValue the working folder */
  readonly base?: string;
  readonly signal?: AbortSignal;
}

/** True for text that names a folder of this machine. */
export const isLocalPath = (text: string): boolean =>
  /^(?:\.{1,2}(?:[/\\]|$)|\/|~(?:[/\\]|$)|[A-Za-z]:[/\\])/.test(text);

/**
 * Finds out what a source stands for: a path, a git repository, an OCI reference, a local build, or a name of the
 * catalogue, in this order.
 */
export async function resolveSource(
  context: ServiceContext,
  source: string,
  options: ResolveOptions = {},
): Promise<Candidate> {
  const { version = '', localBuilds = true } = options;
  if (isLocalPath(source)) return await fromPath(context, source, options);
  if (looksLikeGit(source) || /^(?:ssh:\/\/|[\w.-]+@[\w.-]+:)/.test(source))
    return await fromGit(context, parseGitReference(source), options);
  const text =
    version !== '' && source.includes('/') && !/[:@]/.test(source.split('/').at(-1) ?? '')
      ? `${source}:${version}`
      : source;
  if (isReference(text)) return await fromReference(context, text, source, options);
  if (!isSkillName(text)) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      `${JSON.stringify(text)} is neither a skill name (${SKILL_NAME_RULE}) nor a reference or path`,
    );
  }
  const build = localBuilds ? await findBuild(context, text, version, options.signal) : undefined;
  if (build) return build;
  const found = await findInCatalogue(context, text, options.signal);
  if (found) return await fromPackage(context, found.source, found.provenance, options);
  throw new SkillsLockError(
    'ERR_SKILLS_LOCK_NOT_FOUND',
    `No skill ${JSON.stringify(text)} was found among local builds or in the catalogue; pass an OCI reference, git://host/owner/repo, or a path such as ./${text}`,
  );
}

/** The candidate for what a lock entry pins, without asking what its source stands for now. */
export async function resolvePinned(
  context: ServiceContext,
  entry: { readonly source: string; readonly resolvedReference?: string; readonly digest: string },
  options: ResolveOptions = {},
): Promise<Candidate> {
  const { resolvedReference, digest } = entry;
  if (resolvedReference?.startsWith('git://')) {
    const git = parseGitReference(resolvedReference);
    return gitCandidate(context, git, digest, options.signal);
  }
  if (resolvedReference !== undefined)
    return ociCandidate(context, parseReference(resolvedReference), digest, options.signal);
  const kept = await context.artifacts.resolve(digest).catch(() => undefined);
  if (kept) return buildCandidate(context, '', digest, options.signal);
  if (isLocalPath(entry.source)) {
    const candidate = await fromPath(context, entry.source, options);
    if (candidate.digest === digest) return candidate;
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `${entry.source} is no longer what the lock file pins (${digest}); install it again to pin what is there now`,
    );
  }
  throw new SkillsLockError(
    'ERR_SKILLS_LOCK_NOT_FOUND',
    `${digest} is not on this machine and the lock file names no place to fetch it from; install the skill again`,
  );
}

async function fromReference(
  context: ServiceContext,
  text: string,
  source: string,
  options: ResolveOptions,
): Promise<Candidate> {
  try {
    const local = options.localBuilds === false ? undefined : await findTag(context, text, options.signal);
    return local ?? (await fromOci(context, text, options));
  } catch (error) {
    if (!mayBeCatalogueName(text)) throw error;
    const found = await findInCatalogue(context, source, options.signal);
    if (!found) throw error;
    return await fromPackage(context, found.source, found.provenance, options);
  }
}

async function fromOci(context: ServiceContext, text: string, { signal }: ResolveOptions): Promise<Candidate> {
  const reference = parseReference(text);
  const { digest } = await context.registry.resolve(reference, signal ? { signal } : {});
  return ociCandidate(context, reference, digest, signal);
}

async function fromPackage(
  context: ServiceContext,
  source: string,
  provenance: CatalogueProvenance | undefined,
  options: ResolveOptions,
): Promise<Candidate> {
  const candidate = looksLikeGit(source)
    ? await fromGit(context, parseGitReference(source), options)
    : await fromOci(context, source, options);
  return provenance === undefined ? candidate : { ...candidate, catalogue: provenance };
}

async function fromGit(context: ServiceContext, git: GitReference, { signal }: ResolveOptions): Promise<Candidate> {
  return gitCandidate(context, git, await context.git.resolveCommit(git, signal ? { signal } : {}), signal);
}

function ociCandidate(
  context: ServiceContext,
  reference: Reference,
  digest: string,
  signal: AbortSignal | undefined,
): Candidate {
  const call = signal ? { signal } : {};
  return {
    kind: 'oci',
    reference: qualified(reference),
    tag: reference.tag === '' && reference.digest === '' ? 'latest' : reference.tag,
    digest,
    expectedName: reference.name,
    notices: [],
    oci: reference,
    load: async () => {
      const artifact = await context.registry.pull(formatReference(reference, { digest }), {
        ...call,
        store: context.artifacts,
      });
      return await loadArtifact(artifact, reference.name, signal);
    },
  };
}

/** With its tag made explicit, so that the lock says what `latest` meant. */
function qualified(reference: Reference): string {
  if (reference.tag !== '' || reference.digest !== '') return formatReference(reference);
  return formatReference({ ...reference, tag: 'latest' });
}

function gitCandidate(
  context: ServiceContext,
  git: GitReference,
  commit: string,
  signal: AbortSignal | undefined,
): Candidate {
  return {
    kind: 'git',
    reference: formatGitReference(git),
    tag: isCommit(git.ref) ? '' : (git.ref ?? ''),
    digest: commit,
    expectedName: expectedName(git),
    notices: [],
    git,
    load: async () => {
      const found = await context.git.fetchSkill({ ...git, ref: commit }, signal ? { signal } : {});
      const files = checkedFiles(found.files);
      return {
        skill: readSkill(files, formatGitReference(git)),
        files,
        contentDigest: contentDigest(files),
        commitObject: found.commitObject,
      };
    },
  };
}

/** The same rules for files of a git tree as for those of an archive. */
function checkedFiles(tree: ReadonlyMap<string, Buffer>): readonly SkillFileContent[] {
  const guard = createTreeGuard();
  const files = [...tree].map(([path, bytes]) => ({
    path: guard.addFile(path, bytes.length),
    bytes,
    size: bytes.length,
  }));
  guard.finish();
  return files;
}

function readSkill(files: readonly SkillFileContent[], where: string): Skill {
  const file = files.find(({ path }) => path === 'SKILL.md');
  if (!file)
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `${where} has no SKILL.md; name the folder that holds it behind #`,
    );
  return parseSkill(file.bytes);
}

async function fromPath(context: ServiceContext, source: string, { signal, base }: ResolveOptions): Promise<Candidate> {
  const folder = pathOf(context, source, base);
  const packed = await packSkill(folder, { env: context.env, ...(signal ? { signal } : {}) });
  return {
    kind: 'local-path',
    reference: '',
    tag: '',
    digest: packed.digest,
    notices: packed.warnings.map(({ message }) => message),
    load: async () => {
      await context.artifacts.put(packed, signal ? { signal } : {});
      const { files, contentDigest: digest } = await readLayer(packed.layer.bytes, {
        diffId: packed.diffId,
        ...(signal ? { signal } : {}),
      });
      return { skill: packed.skill, files, contentDigest: digest };
    },
  };
}

/** Absolute path of a local source. */
export function pathOf(context: ServiceContext, source: string, base = context.workingFolder): string {
  if (source.startsWith('~')) return resolvePath(context.home, source.slice(2));
  if (isAbsolute(source)) return resolvePath(source);
  if (base === undefined) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      `${JSON.stringify(source)} is relative to a folder that is not known here; pass an absolute path`,
    );
  }
  return resolvePath(base, source);
}

/** A tag that somebody built here under exactly this text stands for the reference. */
async function findTag(
  context: ServiceContext,
  text: string,
  signal: AbortSignal | undefined,
): Promise<Candidate | undefined> {
  const builds = await context.artifacts.listBuilds(signal ? { signal } : {});
  const build = builds.find(({ tag }) => tag === text);
  return build && buildCandidate(context, build.tag, build.digest, signal);
}

async function findBuild(
  context: ServiceContext,
  name: string,
  version: string,
  signal: AbortSignal | undefined,
): Promise<Candidate | undefined> {
  const builds = await context.artifacts.listBuilds(signal ? { signal } : {});
  const exact = builds.find(({ tag }) => tag === name);
  if (exact && exact.name !== name) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `The local build ${JSON.stringify(name)} holds a skill named ${JSON.stringify(exact.name)}; remove it with "builds remove", or install it by its own name`,
    );
  }
  const fitting = builds.filter(
    (build) => build.name === name && (version === '' || build.version === version || build.tag === version),
  );
  const digests = new Set(fitting.map(({ digest }) => digest));
  const chosen = fitting.find(({ tag }) => tag === name) ?? (digests.size === 1 ? fitting[0] : undefined);
  if (chosen) return buildCandidate(context, chosen.tag, chosen.digest, signal);
  if (digests.size === 0) return undefined;
  throw new SkillsLockError(
    'ERR_SKILLS_LOCK_CONFLICT',
    `Several local builds are named ${JSON.stringify(name)}: ${fitting.map(({ tag }) => tag).join(', ')}; install one by its tag, or pass --version`,
  );
}

function buildCandidate(
  context: ServiceContext,
  tag: string,
  digest: string,
  signal: AbortSignal | undefined,
): Candidate {
  const reference = isStrict(tag) ? tag : '';
  return {
    kind: 'local-build',
    reference,
    tag,
    digest,
    ...(reference === '' ? {} : { expectedName: parseReference(reference).name }),
    notices: [`Using the local build ${tag === '' ? digest : tag}`],
    load: async () =>
      await loadArtifact(await context.artifacts.read(digest, signal ? { signal } : {}), undefined, signal),
  };
}

function isStrict(tag: string): boolean {
  try {
    parseReference(tag, { mode: 'strict' });
    return tag.includes('/');
  } catch {
    return false;
  }
}

/** The label, SKILL.md and the repository must name the same skill. */
async function loadArtifact(
  artifact: SkillArtifact,
  repositoryName: string | undefined,
  signal: AbortSignal | undefined,
): Promise<LoadedSkill> {
  const { name } = artifact.labels;
  if (repositoryName !== undefined && repositoryName !== name) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `The artifact holds a skill named ${JSON.stringify(name)}, but its repository ends in ${JSON.stringify(repositoryName)}; the two must be the same`,
    );
  }
  const content = await readLayer(artifact.layer.bytes, {
    digest: artifact.layer.digest,
    diffId: artifact.diffId,
    expectedName: name,
    ...(signal ? { signal } : {}),
  });
  return { skill: parseSkill(content.skillFile), files: content.files, contentDigest: content.contentDigest };
}
