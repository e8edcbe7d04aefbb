import { requireInteger } from '../arguments.js';
import { systemClock } from '../clock.js';
import type { Clock } from '../ports.js';
import type { SessionRecord, SessionStore } from './store.js';

/**
 * Sessions in this process. A session is over `ttlMs` after it was last saved or loaded, at that moment and not at
 * the next sweep.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT`.
 */
export function createMemorySessionStore(
  options: {
    /** @defaultValue 7200000 */
    readonly ttlMs?: number;
    readonly clock?: Clock;
  } = {},
): SessionStore {
  const { clock = systemClock } = options;
  const ttlMs = requireInteger('ttlMs', options.ttlMs ?? 2 * 60 * 60 * 1_000, 1);
  /** In order of last use, since each use puts an entry at the end: a sweep stops at the first that is fresh. */
  const entries = new Map<string, { readonly session: SessionRecord; readonly expiresAt: number }>();

  function touch(session: SessionRecord): void {
    entries.delete(session.id);
    entries.set(session.id, { session, expiresAt: clock.now() + ttlMs });
  }

  function live(id: string): SessionRecord | undefined {
    const entry = entries.get(id);
    return entry !== undefined && entry.expiresAt > clock.now() ? entry.session : undefined;
  }

  function* expired(): Generator<string> {
    const now = clock.now();
    for (const [id, { expiresAt }] of entries) {
      if (expiresAt > now) return;
      yield id;
    }
  }

  return {
    get size() {
      return entries.size - [...expired()].length;
    },
    async add(session) {
      if (live(session.id) !== undefined) return false;
      touch(session);
      return true;
    },
    async replace(session) {
      if (live(session.id) === undefined) return false;
      touch(session);
      return true;
    },
    async load(id, owner) {
      const session = live(id);
      if (session === undefined || session.owner !== owner) return undefined;
      touch(session);
      return session;
    },
    async delete(id) {
      entries.delete(id);
    },
    async deleteExpired() {
      const gone = [...expired()];
      for (const id of gone) entries.delete(id);
      return gone;
    },
    async close() {
      entries.clear();
    },
  };
}
