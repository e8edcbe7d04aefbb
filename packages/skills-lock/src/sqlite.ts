import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type SqliteConstructor from 'better-sqlite3';
import type { Database as SqliteFile } from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { SkillsLockError } from './errors.js';
import { createKyselySkillStore } from './store/kysely.js';
import type { SkillStore } from './store/port.js';
import { migrations } from './store/schema.js';
import type { SkillTables } from './store/schema.js';

/** How {@link openSqliteSkillStore} opens the database. */
export interface SqliteSkillStoreOptions {
  /** Milliseconds that a writer waits for another process. @defaultValue 5000 */
  readonly busyTimeoutMs?: number;
  /** Time of a change, RFC 3339. @defaultValue the system's time in seconds */
  readonly now?: () => string;
}

/** RFC 3339 in UTC, without fractions. */
const systemTime = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

/**
 * Opens the database of installed skills, creates it where it is missing, and brings it up to date. Several
 * processes may use one file.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_STORE` when better-sqlite3 is not installed or the file is no database.
 */
export async function openSqliteSkillStore(path: string, options: SqliteSkillStoreOptions = {}): Promise<SkillStore> {
  const { busyTimeoutMs = 5_000, now = systemTime } = options;
  const Database = await loadDriver();
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = new Database(path, { timeout: busyTimeoutMs });
    for (const pragma of ['journal_mode = WAL', 'synchronous = NORMAL', 'foreign_keys = ON', 'cache_size = -2000'])
      file.pragma(pragma);
    migrate(file);
    const database = new Kysely<SkillTables>({ dialect: new SqliteDialect({ database: file }) });
    return createKyselySkillStore(database, { now });
  } catch (error) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_STORE',
      `${path} could not be opened: ${error instanceof Error ? error.message : String(error)}. Move the file away to start anew`,
      { cause: error },
    );
  }
}

/** The add-on is bound to one Node; opening a database in memory is what tells whether it can be loaded here. */
async function loadDriver(): Promise<typeof SqliteConstructor> {
  try {
    const { default: Database } = await import('better-sqlite3');
    new Database(':memory:').close();
    return Database;
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_STORE',
      `Recording installed skills needs the package better-sqlite3 12, which could not be loaded: ${why} Install it (npm install better-sqlite3@12, with install scripts allowed), or rebuild it for this Node (npm rebuild better-sqlite3)`,
      { cause: error },
    );
  }
}

/**
 * `user_version` counts the steps that have run; the write lock keeps a second process from running them too.
 * Without an `await` in between, since a second connection of this process would block it while it holds the lock.
 */
function migrate(file: SqliteFile): void {
  const run = file.transaction(() => {
    const done = file.pragma('user_version', { simple: true }) as number;
    if (done > migrations.length) {
      throw new Error(`it was written by a newer program (step ${done}, known are ${migrations.length})`);
    }
    for (const step of migrations.slice(done)) file.exec(step);
    file.pragma(`user_version = ${migrations.length}`);
  });
  run.immediate();
}
