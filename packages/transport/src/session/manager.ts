import { randomUUID } from 'node:crypto';
import { requireInteger } from '../arguments.js';
import { systemClock } from '../clock.js';
import { TransportError } from '../errors.js';
import type { Clock, Principal } from '../ports.js';
import { createMemorySessionStore } from './memory.js';
import type { SessionRecord, SessionStore } from './store.js';

/** How {@link createSessionManager} keeps sessions. */
export interface SessionManagerOptions {
  /** Time without use after which a session is over. @defaultValue 7200000 */
  readonly ttlMs?: number;
  /** @defaultValue one in this process */
  readonly store?: SessionStore;
  readonly clock?: Clock;
  /** Milliseconds since 1970. @defaultValue `Date.now` */
  readonly now?: () => number;
  /** Sessions that a sweep ended. */
  readonly onExpired?: (ids: readonly string[]) => void;
  /** A sweep that failed; the next one tries again. */
  readonly onError?: (error: unknown) => void;
}

/** What {@link SessionManager.create} takes. */
export interface NewSession {
  readonly type: SessionRecord['type'];
  readonly principal?: Principal | undefined;
  readonly metadata?: Readonly<Record<string, string>>;
  /** A UUID that is not in use. @defaultValue a random one */
  readonly id?: string;
}

/** Sessions of clients, each bound to who made it. */
export interface SessionManager {
  /** @throws TransportError `ERR_TRANSPORT_ARGUMENT` for an `id` that is no UUID, or in use. */
  create(session: NewSession): Promise<SessionRecord>;
  /**
   * The session of an id for a principal, and its time begins anew. Somebody else's is `not-found`, so that ids cannot
   * be probed; a store that fails is `unavailable`, so that a client need not begin anew for it.
   */
  find(
    id: string,
    principal: Principal | undefined,
  ): Promise<
    | { readonly kind: 'found'; readonly session: SessionRecord }
    | { readonly kind: 'not-found' }
    | { readonly kind: 'unavailable'; readonly error: unknown }
  >;
  /** Keeps other metadata; `undefined` when the session is over. */
  update(session: SessionRecord, metadata: Readonly<Record<string, string>>): Promise<SessionRecord | undefined>;
  /** Ends a session; one that is missing is fine. */
  delete(id: string): Promise<void>;
  /** Sessions of this process. */
  readonly count: number;
  /** Stops sweeping and closes the store. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A text that is the same exactly for the same issuer and subject. */
export const principalKey = (principal: Principal | undefined): string | undefined =>
  principal && JSON.stringify([principal.issuer ?? null, principal.subject]);

/**
 * Sessions with a sliding time to live, swept twice in that time.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT`.
 */
export function createSessionManager(options: SessionManagerOptions = {}): SessionManager {
  const { clock = systemClock, now = Date.now } = options;
  const ttlMs = requireInteger('ttlMs', options.ttlMs ?? 2 * 60 * 60 * 1_000, 1);
  const store = options.store ?? createMemorySessionStore({ ttlMs, clock });
  let closing: Promise<void> | undefined;
  let cancelSweep = scheduleSweep();

  function scheduleSweep(): () => void {
    return clock.setTimer(Math.max(1, ttlMs / 2), () => void sweep());
  }

  async function sweep(): Promise<void> {
    try {
      const ids = await store.deleteExpired();
      if (ids.length > 0) options.onExpired?.(ids);
    } catch (error) {
      options.onError?.(error);
    }
    if (closing === undefined) cancelSweep = scheduleSweep();
  }

  async function close(): Promise<void> {
    cancelSweep();
    closing ??= store.close();
    await closing;
  }

  return {
    async create({ type, principal, metadata = {}, id }) {
      if (id !== undefined && !UUID.test(id)) throw wrongId(id, 'a UUID');
      const at = now();
      const owner = principalKey(principal);
      const session: SessionRecord = {
        id: id ?? randomUUID(),
        type,
        createdAt: at,
        updatedAt: at,
        ...(owner === undefined ? {} : { owner }),
        metadata: { ...metadata },
      };
      if (!(await store.add(session))) throw wrongId(session.id, 'the id of no other session');
      return session;
    },
    async find(id, principal) {
      try {
        const session = await store.load(id, principalKey(principal));
        return session === undefined ? { kind: 'not-found' } : { kind: 'found', session };
      } catch (error) {
        return { kind: 'unavailable', error };
      }
    },
    async update(session, metadata) {
      const changed = { ...session, metadata: { ...metadata }, updatedAt: now() };
      return (await store.replace(changed)) ? changed : undefined;
    },
    delete: (id) => store.delete(id),
    get count() {
      return store.size;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const wrongId = (id: string, expected: string) =>
  new TransportError('ERR_TRANSPORT_ARGUMENT', `Expected \`id\` to be ${expected}, got \`${id}\` (${typeof id})`);
