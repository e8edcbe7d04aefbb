import { INDEX_TYPE } from '../artifact/media-types.js';
import { parseJsonObject, readDescriptors } from '../artifact/read.js';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import type { Blob, Descriptor, Reference } from '../types.js';
import { failure } from './failure.js';
import { fetchManifest } from './manifests.js';
import type { Session } from './session.js';
import { headerOf } from './transport.js';

const MOST_PAGES = 10;
const MOST_REFERRERS = 1000;
/** Answers of registries that do not know the referrers API. */
const unsupported: ReadonlySet<number> = new Set([400, 404, 405, 415, 501]);

/** The tag under which clients list referrers where the registry does not. */
export function fallbackTag(digest: string): string {
  return digest.replace(':', '-');
}

function nextPage(link: string, url: string): string | undefined {
  const target = /<([^>]*)>\s*;[^,]*rel="?next"?/i.exec(link)?.[1];
  if (target === undefined || !URL.canParse(target, url)) return undefined;
  const next = new URL(target, url);
  return next.origin === new URL(url).origin ? next.href : undefined;
}

async function readTag(
  session: Session,
  reference: Reference,
  digest: string,
  signal: AbortSignal,
): Promise<Blob | undefined> {
  try {
    return await fetchManifest(session, reference, fallbackTag(digest), LIMITS.signatureManifestBytes, signal);
  } catch (error) {
    if (OciSkillsError.is(error) && error.code === 'ERR_OCI_SKILLS_NOT_FOUND') return undefined;
    throw error;
  }
}

function readList(bytes: Uint8Array): readonly Descriptor[] {
  return readDescriptors(
    parseJsonObject(bytes, 'the list of referrers')['manifests'] ?? [],
    'the list of referrers',
    MOST_REFERRERS,
  );
}

/**
 * Everything that refers to `digest`.
 *
 * @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers
 */
export async function listReferrers(
  session: Session,
  reference: Reference,
  digest: string,
  signal: AbortSignal,
): Promise<readonly Descriptor[]> {
  const found: Descriptor[] = [];
  let path: string | undefined = `referrers/${digest}`;
  for (let page = 0; path !== undefined && page < MOST_PAGES; page += 1) {
    const call = {
      method: 'GET',
      path,
      access: 'pull',
      headers: { accept: INDEX_TYPE },
      maxBytes: LIMITS.signatureManifestBytes,
      follow: true,
    } as const;
    const answer = await session.send(reference, call, signal);
    const isIndex = headerOf(answer, 'content-type').startsWith(INDEX_TYPE);
    if (page === 0 && (unsupported.has(answer.status) || (answer.status === 200 && !isIndex))) {
      const tagged = await readTag(session, reference, digest, signal);
      return tagged === undefined ? [] : readList(tagged.bytes);
    }
    if (answer.status !== 200) throw failure(reference, answer, 'listing what refers to');
    found.push(...readList(answer.body));
    path = nextPage(headerOf(answer, 'link'), answer.url);
  }
  return found;
}
