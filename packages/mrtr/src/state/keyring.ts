import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { MrtrError } from '../errors.js';

/** One key of a ring. */
export interface StateKey {
  /** Stands in clear in every token: 1 to 32 letters, digits, `_` and `-`. */
  readonly id: string;
  /** 32 random bytes. */
  readonly key: Uint8Array;
  /** Milliseconds since 1970 UTC; what the key sealed is not opened later. */
  readonly notAfter?: number;
}

/** The keys derived from one key of the ring. */
export interface DerivedKey {
  readonly id: string;
  readonly seal: KeyObject;
  /** What stands before the sealed part of a token, which the seal covers too. */
  readonly header: Buffer;
  readonly notAfter: number;
  /** Keyed hash of who a state belongs to. */
  hashOf(text: string): string;
}

/** Keys by id; the active one seals. */
export interface KeyRing {
  readonly active: DerivedKey;
  get(id: string): DerivedKey | undefined;
}

const ID = /^[A-Za-z0-9_-]{1,32}$/;
const MAX_KEYS = 16;
const MAX_KNOWN = 1000;

/** First part of every token. */
export const VERSION = 'thv1';

/**
 * Makes a ring. The first key seals; all of them open. To rotate, put the new key in second place everywhere, then in
 * first place, then drop the old one once the last state that it sealed has expired.
 *
 * @throws MrtrError `ERR_MRTR_ARGUMENT`
 */
export function createKeyRing(keys: readonly StateKey[]): KeyRing {
  const derived = new Map<string, DerivedKey>();
  for (const { id, key, notAfter = Number.POSITIVE_INFINITY } of keys) {
    if (!ID.test(id) || derived.has(id)) {
      throw argument(`Expected the id of a key to be unique and to match ${String(ID)}, got \`${id}\``);
    }
    if (!(key instanceof Uint8Array) || key.length !== 32) {
      throw argument(
        `Expected key \`${id}\` to be 32 bytes, got ${key instanceof Uint8Array ? key.length : typeof key}`,
      );
    }
    const seal = createSecretKey(Buffer.from(hkdfSync('sha256', key, '', 'thv1 state', 32)));
    const owner = Buffer.from(hkdfSync('sha256', key, '', 'thv1 principal', 32));
    derived.set(id, { id, seal, notAfter, header: Buffer.from(`${VERSION}.${id}`), hashOf: keyedHash(owner) });
  }
  const [first] = keys;
  const active = first === undefined ? undefined : derived.get(first.id);
  if (active === undefined || keys.length > MAX_KEYS) {
    throw argument(`Expected \`keys\` to have 1 to ${MAX_KEYS} keys, got ${keys.length}`);
  }
  return { active, get: (id) => derived.get(id) };
}

/** Callers come again: a tenth of what sealing costs would be their hash. */
function keyedHash(key: Buffer): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    let hash = known.get(text);
    if (hash === undefined) {
      hash = createHmac('sha256', key).update(text).digest('base64url').slice(0, 22);
      if (known.size >= MAX_KNOWN) known.clear();
      known.set(text, hash);
    }
    return hash;
  };
}

const argument = (message: string): MrtrError => new MrtrError('ERR_MRTR_ARGUMENT', message);
