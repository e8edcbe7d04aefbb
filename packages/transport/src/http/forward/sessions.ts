import { createHash } from 'node:crypto';
import type { Principal } from '../../ports.js';
import type { SessionManager } from '../../session/manager.js';
import type { SessionRecord } from '../../session/store.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** The namespace for URLs. @see https://www.rfc-editor.org/rfc/rfc9562#section-6.6 */
const URL_NAMESPACE = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');

const MAX_REMEMBERED = 1000;
const hashedIds = new Map<string, string>();

/** The key under which a session id of a server is kept: a UUID as it is, anything else as one made from it. */
export function storageId(id: string): string {
  if (UUID.test(id)) return id.toLowerCase();
  let hashed = hashedIds.get(id);
  if (hashed === undefined) {
    hashed = hashedId(id);
    // Ids come from strangers: what is remembered is bounded.
    if (hashedIds.size >= MAX_REMEMBERED) hashedIds.clear();
    hashedIds.set(id, hashed);
  }
  return hashed;
}

function hashedId(id: string): string {
  const hash = createHash('sha1').update(URL_NAMESPACE).update(id).digest().subarray(0, 16);
  hash[6] = ((hash[6] as number) & 0x0f) | 0x50;
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80;
  return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** What the guard finds for the session id of a request. */
export type SessionLook =
  | { readonly kind: 'none' }
  | { readonly kind: 'known'; readonly id: string; readonly record: SessionRecord }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unavailable'; readonly error: unknown };

/** The sessions that a server gave out through the proxy. */
export class TrackedSessions {
  readonly #manager: SessionManager;

  constructor(manager: SessionManager) {
    this.#manager = manager;
  }

  async look(id: string, principal: Principal | undefined): Promise<SessionLook> {
    const found = await this.#manager.find(storageId(id), principal);
    if (found.kind === 'found') return { kind: 'known', id, record: found.session };
    return found.kind === 'not-found' ? { kind: 'unknown' } : found;
  }

  /** Notes a session that a server gave out; one that is known stays as it is. */
  async note(id: string, principal: Principal | undefined, type: 'mcp' | 'sse', initialize?: Buffer): Promise<void> {
    const known = await this.#manager.find(storageId(id), principal);
    if (known.kind === 'found') return;
    const metadata = initialize === undefined ? {} : { init_body: initialize.toString() };
    await this.#manager.create({ id: storageId(id), type, principal, metadata });
  }

  /** Remembers under which id the server now knows a session. */
  async renew(record: SessionRecord, serverId: string): Promise<void> {
    await this.#manager.update(record, { ...record.metadata, backend_sid: serverId });
  }

  async drop(id: string): Promise<void> {
    await this.#manager.delete(storageId(id));
  }

  get size(): number {
    return this.#manager.count;
  }

  close(): Promise<void> {
    return this.#manager.close();
  }
}

/** The id under which the server knows a session: the one it gave out, or the one it gave out when it came back. */
export const serverSessionId = (id: string, { metadata }: SessionRecord): string =>
  (Object.hasOwn(metadata, 'backend_sid') ? metadata['backend_sid'] : undefined) ?? id;
