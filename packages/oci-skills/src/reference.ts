import { OciSkillsError } from './errors.js';
import { printable } from './text.js';
import type { ParseReferenceOptions, Reference } from './types.js';

const HUB = 'index.docker.io';
const HUB_API = 'registry-1.docker.io';
const hubNames: ReadonlySet<string> = new Set([HUB, 'docker.io', HUB_API]);

// @see https://github.com/distribution/reference/blob/main/reference.go
const component = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const tagPattern = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const hostPattern =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const MOST_REPOSITORY = 255;
const MOST_REFERENCE = 1024;

function refuse(text: string, why: string): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_REFERENCE',
    `\`${printable(text, 200)}\` is no OCI reference: ${why}; write it as \`registry/repository:tag\` or \`registry/repository@sha256:…\``,
    { details: { reference: printable(text, 512), reason: why } },
  );
}

interface Parts {
  readonly name: string;
  readonly tag: string;
  readonly digest: string;
}

function cutDigest(text: string): readonly [rest: string, digest: string] {
  const at = text.indexOf('@');
  if (at < 0) return [text, ''];
  const digest = text.slice(at + 1);
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) {
    throw refuse(text, 'the digest must be `sha256:` and 64 lower-case hexadecimal digits');
  }
  return [text.slice(0, at), digest];
}

function cutParts(text: string): Parts {
  const [rest, digest] = cutDigest(text);
  const colon = rest.lastIndexOf(':');
  if (colon < 0 || colon < rest.lastIndexOf('/')) return { name: rest, tag: '', digest };
  const tag = rest.slice(colon + 1);
  if (!tagPattern.test(tag)) throw refuse(text, `the tag \`${printable(tag)}\` is not allowed`);
  return { name: rest.slice(0, colon), tag, digest };
}

function isHost(first: string): boolean {
  return first.includes('.') || first.includes(':') || first === 'localhost';
}

function cutRegistry(text: string, name: string): readonly [registry: string, repository: string] {
  const slash = name.indexOf('/');
  const first = slash < 0 ? '' : name.slice(0, slash);
  if (!isHost(first)) return [HUB, name];
  if (!hostPattern.test(first) || Number(/:(\d+)$/.exec(first)?.[1] ?? 1) > 65_535) {
    throw refuse(text, `\`${printable(first)}\` is no host name with an optional port`);
  }
  const host = first.toLowerCase();
  return [hubNames.has(host) ? HUB : host, name.slice(slash + 1)];
}

function checkRepository(text: string, repository: string): void {
  if (repository === '') throw refuse(text, 'the repository is missing');
  if (repository.length > MOST_REPOSITORY)
    throw refuse(text, `the repository is longer than ${MOST_REPOSITORY} characters`);
  const wrong = repository.split('/').find((part) => !component.test(part));
  if (wrong !== undefined) {
    throw refuse(
      text,
      `\`${printable(wrong)}\` in the repository must be lower-case letters and digits, joined by \`.\`, \`_\`, \`__\` or hyphens`,
    );
  }
}

/**
 * Parse `[registry/]repository[:tag][@digest]`. Without a registry Docker Hub is meant. In strict mode a tag or a digest
 * is required, otherwise `latest` stands for both.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_REFERENCE`
 * @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests
 */
export function parseReference(text: string, options: ParseReferenceOptions = {}): Reference {
  if (typeof text !== 'string' || text === '') throw refuse(String(text), 'it is empty');
  if (text.length > MOST_REFERENCE) throw refuse(text, `it is longer than ${MOST_REFERENCE} characters`);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) throw refuse(text, 'it has a URL scheme, which references do not have');
  const { name, tag, digest } = cutParts(text);
  const [registry, repository] = cutRegistry(text, name);
  checkRepository(text, repository);
  if (options.mode === 'strict' && tag === '' && digest === '') throw refuse(text, 'it has neither a tag nor a digest');
  const isHub = registry === HUB;
  const full = isHub && !repository.includes('/') ? `library/${repository}` : repository;
  return {
    source: text,
    registry,
    apiHost: isHub ? HUB_API : registry,
    repository: full,
    name: full.slice(full.lastIndexOf('/') + 1),
    tag: tag === '' && digest === '' ? 'latest' : tag,
    digest,
  };
}

/**
 * The canonical text of a reference: `registry/repository[:tag][@digest]`. A `digest` given in the options stands in
 * place of both the reference's own tag and digest.
 */
export function formatReference(reference: Reference, options: { readonly digest?: string } = {}): string {
  const { registry, repository, tag, digest } = reference;
  const name = `${registry}/${repository}`;
  if (options.digest !== undefined) return `${name}@${options.digest}`;
  return `${name}${tag === '' ? '' : `:${tag}`}${digest === '' ? '' : `@${digest}`}`;
}

/** True for a text that is meant as an OCI reference rather than a plain skill name: it has `/`, `:` or `@`. */
export function isReference(text: string): boolean {
  return /[/:@]/.test(text);
}

/** True for an OCI reference that cannot be the `namespace/name` of a catalogue entry. */
export function isUnambiguousReference(text: string): boolean {
  return /[:@]/.test(text) || text.split('/').length > 2;
}

/** Options of {@link chooseBuildTag}. */
export interface ChooseBuildTagOptions {
  /** What the user asked for: a tag, or a whole reference with a tag. */
  readonly tag?: string;
  /** The skill's name, used when no tag was asked for. */
  readonly name?: string;
}

/**
 * The tag that a build is stored under: the one asked for, else the skill's name, else `''` for none.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_REFERENCE` for a tag that is neither a tag nor a reference with tag or digest
 */
export function chooseBuildTag({ tag = '', name = '' }: ChooseBuildTagOptions): string {
  if (tag === '') return name;
  if (isReference(tag)) parseReference(tag, { mode: 'strict' });
  else if (!tagPattern.test(tag))
    throw refuse(tag, 'a tag begins with a letter, digit or `_` and has at most 128 letters, digits, `.`, `_` or `-`');
  return tag;
}

/** A reference given as text or parsed already. */
export function toReference(reference: string | Reference): Reference {
  return typeof reference === 'string' ? parseReference(reference) : reference;
}
