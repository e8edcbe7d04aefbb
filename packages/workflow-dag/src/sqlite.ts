import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type Database from 'better-sqlite3';
import { Kysely, SqliteDialect, type CompiledQuery, type SqliteDatabase, type SqliteStatement } from 'kysely';
import { systemClock } from './clock.js';
import { WorkflowError } from './errors.js';
import { checkInteger } from './options.js';
import type { Clock } from './ports.js';
import type { GroupWriter } from './store/group-commit.js';
import { createKyselyStore } from './store/kysely.js';
import type { Store } from './store/port.js';
import { migrationStatements, migrationTable, SCHEMA_VERSION, type Tables } from './store/schema.js';

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
const BEGIN = { sql: 'begin immediate', parameters: [] };
const COMMIT = { sql: 'commit', parameters: [] };
const ROLLBACK = { sql: 'rollback', parameters: [] };

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
    bringUpToDate(db, statements, path);
    return createKyselyStore({ db, clock, writer: synchronousWriter(statements) });
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

/*
 * Everything that takes more than one statement runs without a turn of the event loop in between. A transaction that
 * waited for promises would hold the write lock meanwhile, and another store of this process that wants it blocks the
 * whole process, the holder included, until it gives up.
 */

function bringUpToDate(db: Kysely<Tables>, statements: StatementCache, path: string): void {
  statements.transaction(() => {
    statements.run(migrationTable(db));
    const { sql } = db.selectFrom('wf_migration').select('version').compile();
    const found = (statements.get(sql) as { readonly version: number } | undefined)?.version ?? 0;
    if (found > SCHEMA_VERSION) {
      throw new WorkflowError(
        'ERR_WORKFLOW_DAG_STORE',
        `The workflow store ${path} has version ${found}, this program knows ${SCHEMA_VERSION}. Use the newer program, or another file.`,
        { details: { path, found, known: SCHEMA_VERSION } },
      );
    }
    for (const statement of migrationStatements(db, found, { serial: 'integer' })) statements.run(statement);
  });
}

function synchronousWriter(statements: StatementCache): GroupWriter {
  return async (group) =>
    statements.transaction(() =>
      group.map(([fence, ...changes]) => {
        if (fence === undefined || statements.run(fence) !== 1) return false;
        for (const change of changes) statements.run(change);
        return true;
      }),
    );
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
  run({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>): number {
    return Number(this.prepare(sql).run(parameters).changes);
  }

  /** The first row. */
  get(text: string): unknown {
    return this.prepare(text).all([])[0];
  }

  transaction<T>(work: () => T): T {
    this.run(BEGIN);
    try {
      const result = work();
      this.run(COMMIT);
      return result;
    } catch (error) {
      // SQLite has rolled back by itself after a full disk.
      if (this.#raw.inTransaction) this.run(ROLLBACK);
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#raw.close();
  }
}
