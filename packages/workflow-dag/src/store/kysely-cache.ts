import { sql, type Kysely } from 'kysely';
import type { Clock } from '../ports.js';
import type { CacheEntry, CacheFilter } from './port.js';
import { cacheRow, toCacheEntry } from './rows.js';
import type { Tables } from './schema.js';

/** Cached results of tools. */
export class KyselyCache {
  readonly #db: Kysely<Tables>;
  readonly #clock: Clock;

  constructor(db: Kysely<Tables>, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async get(key: string): Promise<CacheEntry | undefined> {
    const row = await this.#db
      .selectFrom('wf_cache')
      .selectAll()
      .where('key', '=', key)
      .where('stale_until', '>', this.#clock.now())
      .executeTakeFirst();
    return row === undefined ? undefined : toCacheEntry(row);
  }

  async put(entry: CacheEntry): Promise<void> {
    const { key, ...rest } = cacheRow(entry);
    await this.#db
      .insertInto('wf_cache')
      .values({ key, ...rest })
      .onConflict((conflict) => conflict.column('key').doUpdateSet(rest))
      .execute();
  }

  async lock(key: string, ttlMs: number): Promise<boolean> {
    const now = this.#clock.now();
    const expires = { expires_at: now + ttlMs };
    const locked = await this.#db
      .insertInto('wf_cache_lock')
      .values({ key, ...expires })
      .onConflict((conflict) =>
        conflict.column('key').doUpdateSet(expires).where('wf_cache_lock.expires_at', '<=', now),
      )
      .executeTakeFirst();
    return locked.numInsertedOrUpdatedRows === 1n;
  }

  async unlock(key: string): Promise<void> {
    await this.#db.deleteFrom('wf_cache_lock').where('key', '=', key).execute();
  }

  async delete(filter: CacheFilter): Promise<number> {
    let query = this.#db.deleteFrom('wf_cache');
    if ('tool' in filter) query = query.where('tool', '=', filter.tool);
    else if ('workflow' in filter) query = query.where('workflow', '=', filter.workflow);
    else if ('keyPrefix' in filter)
      query = query.where(sql<string>`substr(key, 1, ${filter.keyPrefix.length})`, '=', filter.keyPrefix);
    else query = query.where('stale_until', '<=', filter.expiredBefore);
    return Number((await query.executeTakeFirst()).numDeletedRows);
  }

  /** Forgets what is too old to be of use. */
  async purge(): Promise<void> {
    const now = this.#clock.now();
    await this.delete({ expiredBefore: now });
    await this.#db.deleteFrom('wf_cache_lock').where('expires_at', '<=', now).execute();
  }
}
