import { requireInteger } from '../arguments.js';
import { systemClock } from '../clock.js';
import { TransportError } from '../errors.js';
import type { Clock } from '../ports.js';
import type { SessionRecord, SessionStore } from '../session/store.js';

/** How {@link openRedisSessionStore} keeps sessions. */
export interface RedisSessionStoreOptions {
  /** Such as `redis://host:6379/0`, or `rediss://` for TLS. */
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
  /** Time without use after which a session is over. @defaultValue 7200000 */
  readonly ttlMs?: number;
  /** In front of every key; ends in `:`. @defaultValue 'thv:proxy:session:' */
  readonly keyPrefix?: string;
  /** Time for one operation. @defaultValue 5000 */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  /** The connection was lost, or something else went wrong between two operations; it is opened again by itself. */
  readonly onError?: (error: Error) => void;
}

/** Answers a session to its owner and begins its time anew, both in one step; to nobody else it does neither. */
const LOAD = `
local value = redis.call('GET', KEYS[1])
if not value then return nil end
local owner = cjson.decode(value).owner
if (owner or '') ~= ARGV[1] then return nil end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return value`;

/**
 * Sessions in Redis, shared by several proxies and kept over their restarts. A session is over `ttlMs` after its last
 * use, by the clock of Redis.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT`, or `ERR_TRANSPORT_SESSION_STORE` when the package `redis` is not
 * installed or the server cannot be reached. Operations reject with the latter when they fail or take too long.
 */
export async function openRedisSessionStore(options: RedisSessionStoreOptions): Promise<SessionStore> {
  const { url, username, password, keyPrefix = 'thv:proxy:session:', clock = systemClock } = options;
  const ttlMs = requireInteger('ttlMs', options.ttlMs ?? 2 * 60 * 60 * 1_000, 1);
  const timeoutMs = requireInteger('timeoutMs', options.timeoutMs ?? 5_000, 1);
  checkText('url', url, /^rediss?:\/\/[^/]+/, 'an address such as redis://127.0.0.1:6379/0');
  checkText('keyPrefix', keyPrefix, /^[^\s]+:$/, 'text without spaces that ends in ":"');
  const { createClient } = await import('redis').catch((cause: unknown) => {
    throw storeError('The package "redis" is not installed; add it to the dependencies: npm install redis', cause);
  });
  const { host } = new URL(url);
  const client = createClient({
    url,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    // A request must fail while the store is away, not wait for it.
    disableOfflineQueue: true,
    socket: {
      connectTimeout: timeoutMs,
      reconnectStrategy: (retries) => Math.min(2_000, 50 * 2 ** Math.min(retries, 6)),
    },
  });
  client.on('error', (error: Error) => options.onError?.(error));
  const within = limiter(clock, timeoutMs, host);
  try {
    await within(client.connect());
  } catch (error) {
    client.destroy();
    throw error;
  }
  const keyOf = (id: string): string => keyPrefix + id;
  const own = new Map<string, number>();
  const touch = (id: string): void => {
    own.delete(id);
    own.set(id, clock.now() + ttlMs);
  };
  /** Redis forgets by itself; this is only the count of what this process saw. */
  const prune = (): void => {
    const now = clock.now();
    for (const [id, expiresAt] of own) {
      if (expiresAt > now) return;
      own.delete(id);
    }
  };
  const put = async (session: SessionRecord, condition: 'NX' | 'XX'): Promise<boolean> => {
    const set = client.set(keyOf(session.id), write(session), { expiration: { type: 'PX', value: ttlMs }, condition });
    const isSet = (await within(set)) !== null;
    if (isSet) touch(session.id);
    return isSet;
  };
  let closing: Promise<void> | undefined;
  return {
    get size() {
      prune();
      return own.size;
    },
    add: (session) => put(session, 'NX'),
    replace: (session) => put(session, 'XX'),
    async load(id, owner) {
      const value = await within(client.eval(LOAD, { keys: [keyOf(id)], arguments: [owner ?? '', String(ttlMs)] }));
      if (typeof value !== 'string') return undefined;
      touch(id);
      return read(id, value);
    },
    async delete(id) {
      own.delete(id);
      await within(client.del(keyOf(id)));
    },
    async deleteExpired() {
      prune();
      return [];
    },
    close: () => (closing ??= closeClient(client, within)),
  };
}

async function closeClient(
  client: { isReady: boolean; close(): Promise<void>; destroy(): void },
  within: Limiter,
): Promise<void> {
  if (client.isReady) await within(client.close()).catch(() => client.destroy());
  else client.destroy();
}

/** The shape that other programs of this kind keep, with the owner besides. */
function write({ id, type, createdAt, updatedAt, owner, metadata }: SessionRecord): string {
  return JSON.stringify({
    id,
    type,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    owner,
    metadata,
  });
}

function read(id: string, text: string): SessionRecord {
  const { type, created_at: created, updated_at: updated, owner, metadata } = JSON.parse(text) as Stored;
  return {
    id,
    type: type === 'sse' || type === 'streamable' ? type : 'mcp',
    createdAt: Date.parse(created),
    updatedAt: Date.parse(updated),
    ...(owner === undefined ? {} : { owner }),
    metadata: metadata ?? {},
  };
}

interface Stored {
  readonly type: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly owner?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

type Limiter = <T>(work: Promise<T>) => Promise<T>;

const limiter =
  (clock: Clock, timeoutMs: number, host: string): Limiter =>
  async (work) => {
    let cancel: (() => void) | undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = clock.setTimer(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs / 1000} s`)));
    });
    try {
      return await Promise.race([work, late]);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw storeError(`Redis at ${host} failed: ${why}; check that it runs, and the password`, cause);
    } finally {
      cancel?.();
    }
  };

const storeError = (message: string, cause: unknown): TransportError =>
  new TransportError('ERR_TRANSPORT_SESSION_STORE', message, { cause });

function checkText(name: string, value: string, form: RegExp, expected: string): void {
  if (form.test(value)) return;
  // The address may hold a password.
  const shown = name === 'url' ? value.replace(/\/\/.*@/, '//…@') : value;
  const text = `Expected \`${name}\` to be ${expected}, got \`${shown}\` (${typeof value})`;
  throw new TransportError('ERR_TRANSPORT_ARGUMENT', text);
}
