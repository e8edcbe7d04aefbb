import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type Database from 'better-sqlite3';
import { Kysely, sql, SqliteDialect, type SqliteDatabase, type SqliteStatement } from 'kysely';
import { systemClock } from './clock.js';
import { WorkflowError } from './errors.js';
import { checkInteger } from './options.js';
import type { Clock } from './ports.js';
import type { CommitBatch, GroupWriter } from './store/group-commit.js';
import { createKyselyStore } from './store/kysely.js';
import type { Store } from './store/port.js';
import { migrate, SCHEMA_VERSION, type Tables } from './store/schema.js';

/** Options of {@link openSqliteStore}. */
export interface SqliteStoreOptions {
  /**
   * `full`: a committed step survives a loss of power. `normal`: it survives the process, and the last moments may be
   * lost with the power. @defaultValue 'full'
   */
  readonly synchronous?: 'full' | 'normal';
  /** How long a write waits for another process. @defaultValue 5000 */
  readonly busyTimeoutMs?: number;
  readonly clock?: Clock;
  /** Loads the driver. @defaultValue `import('better-sqlite3')` */
  readonly driver?: () => Promise<{ readonly default: typeof Database }>;
}

const STATEMENTS = 200;

/**
 * Opens a store in a SQLite file, which is made where it is missing, readable by its owner alone. Engines in several
 * processes of one machine may share it; a network file system is no place for it.
 *
 * @param path - File, or `:memory:`.
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_DRIVER` where better-sqlite3 is not installed; `ERR_WORKFLOW_DAG_STORE` where
 * the file cannot be opened, is no database, or was written by a newer version.
 * @see https://sqlite.org/wal.html
 */
export async function openSqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<Store> {
  const { synchronous = 'full', busyTimeoutMs = 5000, clock = systemClock } = options;
  const { driver = () => import('better-sqlite3') } = options;
  if (typeof path !== 'string' || path === '') {
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_ARGUMENT',
      `Expected \`path\` to be a file name or :memory:, got \`${String(path)}\` (${typeof path})`,
    );
  }
  checkInteger('busyTimeoutMs', busyTimeoutMs, 0);
  if (synchronous !== 'full' && synchronous !== 'normal') {
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_ARGUMENT',
      `Expected \`synchronous\` to be \`full\` or \`normal\`, got \`${String(synchronous)}\``,
    );
  }
  const Driver = await loadDriver(driver);
  let raw: Database.Database | undefined;
  try {
    raw = openFile(Driver, path, busyTimeoutMs);
    setUp(raw, synchronous);
    const statements = new StatementCache(raw);
    const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: statements }) });
    await bringUpToDate(db, path);
    return createKyselyStore({ db, clock, writer: synchronousWriter(db, statements) });
  } catch (error) {
    raw?.close();
    if (WorkflowError.is(error)) throw error;
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_STORE',
      `The workflow store ${path} could not be opened: ${textOf(error)}`,
      {
        cause: error,
        details: { path },
      },
    );
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function loadDriver(load: () => Promise<{ readonly default: typeof Database }>): Promise<typeof Database> {
  try {
    const Driver = (await load()).default;
    // The addon itself is loaded by the first database, and that is where a missing or foreign one shows.
    new Driver(':memory:').close();
    return Driver;
  } catch (error) {
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_DRIVER',
      `A SQLite store needs the package better-sqlite3 12, which could not be loaded: ${textOf(error).split('\n')[0]}. ` +
        'Install it (npm install better-sqlite3@12, with install scripts allowed), or rebuild it for this Node (npm rebuild better-sqlite3).',
      { cause: error },
    );
  }
}

function openFile(Driver: typeof Database, path: string, busyTimeoutMs: number): Database.Database {
  if (path !== ':memory:') {
    mkdirSync(dirname(resolve(path)), { recursive: true, mode: 0o700 });
    // Results of tools may be confidential: the file is made before SQLite would make it readable by all.
    closeSync(openSync(path, 'a', 0o600));
  }
  return new Driver(path, { timeout: busyTimeoutMs });
}

function setUp(raw: Database.Database, synchronous: 'full' | 'normal'): void {
  raw.pragma('journal_mode = WAL');
  raw.pragma(`synchronous = ${synchronous}`);
  raw.pragma('foreign_keys = ON');
}

async function bringUpToDate(db: Kysely<Tables>, path: string): Promise<void> {
  await db.connection().execute(async (connection) => {
    await sql`begin immediate`.execute(connection);
    try {
      const found = await migrate(connection, { serial: 'integer' });
      if (found > SCHEMA_VERSION) {
        throw new WorkflowError(
          'ERR_WORKFLOW_DAG_STORE',
          `The workflow store ${path} has version ${found}, this program knows ${SCHEMA_VERSION}. Use the newer program, or another file.`,
          { details: { path, found, known: SCHEMA_VERSION } },
        );
      }
      await sql`commit`.execute(connection);
    } catch (error) {
      await sql`rollback`.execute(connection);
      throw error;
    }
  });
}

/**
 * Writes a group without a turn of the event loop between its statements: the driver answers at once, and waiting for
 * what is there already costs as much as the statements. Only where a transaction of Kysely is under way its end is
 * waited for.
 */
function synchronousWriter(db: Kysely<Tables>, statements: StatementCache): GroupWriter {
  const write = (group: readonly CommitBatch[]): readonly boolean[] => {
    statements.run('begin immediate', []);
    try {
      const written = group.map(([fence, ...changes]) => {
        if (fence === undefined || statements.run(fence.sql, fence.parameters) !== 1) return false;
        for (const change of changes) statements.run(change.sql, change.parameters);
        return true;
      });
      statements.run('commit', []);
      return written;
    } catch (error) {
      statements.rollback();
      throw error;
    }
  };
  return async (group) => (statements.inTransaction ? db.connection().execute(async () => write(group)) : write(group));
}

/** Remembers prepared statements: preparing costs more than running for the few that every step needs. */
class StatementCache implements SqliteDatabase {
  readonly #raw: Database.Database;
  readonly #statements = new Map<string, SqliteStatement>();

  constructor(raw: Database.Database) {
    this.#raw = raw;
  }

  prepare(text: string): SqliteStatement {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      if (this.#statements.size >= STATEMENTS) this.#statements.clear();
      statement = this.#raw.prepare(text) as unknown as SqliteStatement;
      this.#statements.set(text, statement);
    }
    return statement;
  }

  /** Runs a statement that answers no rows; answers how many it changed. */
  run(text: string, parameters: readonly unknown[]): number {
    return Number(this.prepare(text).run(parameters).changes);
  }

  get inTransaction(): boolean {
    return this.#raw.inTransaction;
  }

  rollback(): void {
    // SQLite has rolled back by itself after a full disk.
    if (this.#raw.inTransaction) this.run('rollback', []);
  }

  close(): void {
    this.#statements.clear();
    this.#raw.close();
  }
}
