import { createCipheriv, createDecipheriv, hash, randomBytes as systemRandom } from 'node:crypto';
import { MrtrError } from '../errors.js';
import { canonicalJson, isObject } from '../json.js';
import type { JsonObject, JsonValue } from '../types.js';
import { VERSION, createKeyRing } from './keyring.js';
import type { DerivedKey, StateKey } from './keyring.js';
import type { StateStore } from './store.js';

/** Whom a state belongs to; `undefined` is the anonymous caller, who is nobody else. */
export interface StatePrincipal {
  readonly issuer?: string;
  readonly subject: string;
}

/** What a state is bound to. A state opens only for an equal binding. */
export interface StateBinding {
  readonly principal: StatePrincipal | undefined;
  /** Method of the request. */
  readonly method: string;
  /** Parameters of the request; `_meta`, `inputResponses` and `requestState` do not count, nor does the order of keys. */
  readonly params: JsonObject;
  /** Who made the state: a server, a workload, a tool. */
  readonly audience: string;
}

/** Where a flow stands. */
export interface FlowPosition {
  /** Id of the flow, the same in all its rounds. */
  readonly flow: string;
  /** From 1. */
  readonly round: number;
  /** Milliseconds since 1970 UTC; no round of the flow may be later. */
  readonly flowExpiresAt: number;
}

/** A state that may be trusted. */
export interface OpenedState extends FlowPosition {
  readonly kind: 'opened';
  readonly payload: JsonValue;
  /** Unique for each sealing. */
  readonly id: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** Key that sealed it. */
  readonly keyId: string;
}

/** Why a state is refused. For logs; the peer must not learn it. */
export type RejectReason =
  | 'malformed'
  | 'unknown-key'
  | 'expired-key'
  | 'tampered'
  | 'expired'
  | 'flow-expired'
  | 'principal'
  | 'method'
  | 'params'
  | 'audience'
  | 'missing';

/** A state that must not be used. */
export interface RejectedState {
  readonly kind: 'rejected';
  readonly reason: RejectReason;
}

/** Options of {@link createStateCodec}. Times are milliseconds, sizes bytes. */
export interface StateCodecOptions {
  /** The first seals, all open. */
  readonly keys: readonly StateKey[];
  /** Of one round. @defaultValue 600000 */
  readonly ttlMs?: number;
  /** Of the whole flow. @defaultValue 3600000 */
  readonly flowTtlMs?: number;
  /** Larger states go to the store, and a handle travels. @defaultValue 4096 */
  readonly softMaxBytes?: number;
  /** Larger states are refused where there is no store. @defaultValue 16384 */
  readonly hardMaxBytes?: number;
  readonly store?: StateStore;
  /** @defaultValue Date.now */
  readonly now?: () => number;
  /** @defaultValue the system's */
  readonly randomBytes?: (size: number) => Uint8Array;
}

/** Seals and opens states. */
export interface StateCodec {
  /**
   * @param position where the flow stands; absent: a new one begins
   * @throws MrtrError `ERR_MRTR_STATE_SIZE`, or `ERR_MRTR_STORE` when the store fails
   */
  seal(payload: JsonValue, binding: StateBinding, position?: FlowPosition): Promise<string>;
  /** @throws MrtrError `ERR_MRTR_STORE` when the store fails; a bad token is an answer, not an exception */
  open(token: unknown, binding: StateBinding): Promise<OpenedState | RejectedState>;
}

/** The error for every state that does not open; it does not tell why. */
export const INVALID_STATE = {
  code: -32602,
  message: 'The request state is not valid for this request; start the request again without it',
  data: { reason: 'invalid_request_state' },
} as const;

interface Claims {
  readonly f: string;
  readonly j: string;
  readonly r: number;
  readonly i: number;
  readonly e: number;
  readonly x: number;
  readonly m: string;
  readonly p: string;
  /** `0` is the anonymous caller: a hash is never a number. */
  readonly u: string | 0;
  readonly a: string;
  readonly s?: JsonValue;
  readonly h?: string;
}

const CIPHER = 'aes-256-gcm';
const NONCE = 12;
const TAG = 16;
/** Bytes of an id. */
const ID = 12;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const MAX_TOKEN = 64 * 1024;
const TOKEN = /^thv1\.([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]+)$/;

/**
 * Makes a codec: AES-256-GCM with a key derived from one of a ring, so that a client can neither read nor change what
 * it carries, and a state of another caller, request, server or time does not open.
 *
 * @throws MrtrError `ERR_MRTR_ARGUMENT`
 * @see https://modelcontextprotocol.io/specification — "Multi round-trip requests", request state
 */
export function createStateCodec(options: StateCodecOptions): StateCodec {
  return new Codec(options);
}

class Codec implements StateCodec {
  readonly #options: Required<Omit<StateCodecOptions, 'keys' | 'store'>>;
  readonly #store: StateStore | undefined;
  readonly #ring;

  constructor({ keys, store, ...options }: StateCodecOptions) {
    this.#ring = createKeyRing(keys);
    this.#store = store;
    this.#options = {
      ttlMs: 600_000,
      flowTtlMs: 3_600_000,
      softMaxBytes: 4096,
      hardMaxBytes: 16_384,
      now: Date.now,
      randomBytes: systemRandom,
      ...options,
    };
    for (const name of ['ttlMs', 'flowTtlMs', 'softMaxBytes', 'hardMaxBytes'] as const) {
      const value = this.#options[name];
      if (Number.isSafeInteger(value) && value > 0) continue;
      throw new MrtrError('ERR_MRTR_ARGUMENT', `Expected \`${name}\` to be a positive integer, got \`${value}\``);
    }
  }

  async seal(payload: JsonValue, binding: StateBinding, position?: FlowPosition): Promise<string> {
    const { ttlMs, flowTtlMs, softMaxBytes, hardMaxBytes, now } = this.#options;
    const { active } = this.#ring;
    const issued = now();
    const flowEnds = position?.flowExpiresAt ?? issued + flowTtlMs;
    // One call for three values: each call costs as much as the cipher itself.
    const random = Buffer.from(this.#options.randomBytes(NONCE + 2 * ID));
    const claims: Claims = {
      f: position?.flow ?? random.toString('base64url', NONCE + ID),
      j: random.toString('base64url', NONCE, NONCE + ID),
      r: position?.round ?? 1,
      i: issued,
      e: Math.min(issued + ttlMs, flowEnds),
      x: flowEnds,
      m: binding.method,
      p: digestOf(binding.params),
      u: ownerOf(binding.principal, active),
      a: binding.audience,
      s: payload,
    };
    const token = this.#encrypt(JSON.stringify(claims), active, random.subarray(0, NONCE));
    if (token.length <= softMaxBytes) return token;
    if (this.#store !== undefined) return this.#park(this.#store, token, claims, active);
    if (token.length <= hardMaxBytes) return token;
    throw new MrtrError(
      'ERR_MRTR_STATE_SIZE',
      `The sealed state has ${token.length} bytes, more than ${hardMaxBytes}; keep less in it, or give the codec a store`,
      { details: { bytes: token.length } },
    );
  }

  async open(token: unknown, binding: StateBinding): Promise<OpenedState | RejectedState> {
    const known = this.#decrypt(token);
    if ('kind' in known) return known;
    const { claims, key } = known;
    const reason = this.#mismatch(claims, key, binding);
    if (reason !== undefined) return rejected(reason);
    let payload = claims.s;
    if (claims.h !== undefined) {
      const stored = await this.#load(claims.h);
      if (stored === undefined) return rejected('missing');
      const inner = this.#decrypt(stored);
      if ('kind' in inner || inner.claims.j !== claims.j) return rejected('tampered');
      payload = inner.claims.s;
    }
    return {
      kind: 'opened',
      payload: payload ?? null,
      id: claims.j,
      flow: claims.f,
      round: claims.r,
      issuedAt: claims.i,
      expiresAt: claims.e,
      flowExpiresAt: claims.x,
      keyId: key.id,
    };
  }

  #mismatch(claims: Claims, key: DerivedKey, binding: StateBinding): RejectReason | undefined {
    const now = this.#options.now();
    if (now >= claims.x) return 'flow-expired';
    if (now >= claims.e) return 'expired';
    if (claims.u !== ownerOf(binding.principal, key)) return 'principal';
    if (claims.a !== binding.audience) return 'audience';
    if (claims.m !== binding.method) return 'method';
    return isDigestOf(claims.p, binding.params) ? undefined : 'params';
  }

  async #park(store: StateStore, token: string, claims: Claims, key: DerivedKey): Promise<string> {
    const handle = Buffer.from(this.#options.randomBytes(16)).toString('base64url');
    try {
      await store.put(handle, token, Math.max(1, claims.e - claims.i));
    } catch (cause) {
      throw new MrtrError('ERR_MRTR_STORE', 'The state could not be stored', { cause });
    }
    const { s: _payload, ...rest } = claims;
    return this.#encrypt(JSON.stringify({ ...rest, h: handle }), key, this.#options.randomBytes(NONCE));
  }

  async #load(handle: string): Promise<string | undefined> {
    try {
      return await this.#store?.get(handle);
    } catch (cause) {
      throw new MrtrError('ERR_MRTR_STORE', 'The state could not be read from its store', { cause });
    }
  }

  #encrypt(text: string, key: DerivedKey, nonce: Uint8Array): string {
    const cipher = createCipheriv(CIPHER, key.seal, nonce);
    cipher.setAAD(key.header);
    const body = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${VERSION}.${key.id}.${body.toString('base64url')}`;
  }

  #decrypt(token: unknown): RejectedState | { readonly claims: Claims; readonly key: DerivedKey } {
    const parts = typeof token === 'string' && token.length <= MAX_TOKEN ? TOKEN.exec(token) : null;
    if (parts === null) return rejected('malformed');
    const key = this.#ring.get(parts[1] ?? '');
    if (key === undefined) return rejected('unknown-key');
    if (this.#options.now() > key.notAfter) return rejected('expired-key');
    const body = Buffer.from(parts[2] ?? '', 'base64url');
    // One token, one spelling: the last character may carry bits that no byte has.
    if (body.length <= NONCE + TAG || !isOnlySpelling(parts[2] ?? '')) return rejected('malformed');
    try {
      const decipher = createDecipheriv(CIPHER, key.seal, body.subarray(0, NONCE), { authTagLength: TAG });
      decipher.setAAD(key.header);
      decipher.setAuthTag(body.subarray(body.length - TAG));
      const plain = decipher.update(body.subarray(NONCE, body.length - TAG));
      decipher.final();
      const claims: unknown = JSON.parse(plain.toString('utf8'));
      return isObject(claims) ? { claims: claims as unknown as Claims, key } : rejected('malformed');
    } catch {
      return rejected('tampered');
    }
  }
}

/** True where the bits of the last character that belong to no byte are 0, and no character is alone. */
function isOnlySpelling(text: string): boolean {
  const spare = text.length % 4;
  if (spare === 0) return true;
  const last = ALPHABET.indexOf(text.at(-1) ?? '');
  return spare !== 1 && last % (spare === 2 ? 16 : 4) === 0;
}

const rejected = (reason: RejectReason): RejectedState => ({ kind: 'rejected', reason });

/** JSON keeps issuer and subject apart, whatever characters they have. */
const ownerOf = (principal: StatePrincipal | undefined, key: DerivedKey): string | 0 =>
  principal === undefined ? 0 : key.hashOf(JSON.stringify([principal.issuer ?? null, principal.subject]));

/** Parameters that are nested too deeply have no digest, and no state was ever sealed for them. */
function isDigestOf(digest: string, params: JsonObject): boolean {
  try {
    return digest === digestOf(params);
  } catch (error) {
    if (MrtrError.is(error)) return false;
    throw error;
  }
}

function digestOf(params: JsonObject): string {
  const { _meta, inputResponses: _answers, requestState: _state, ...rest } = params;
  return hash('sha256', canonicalJson(rest), 'base64url');
}
