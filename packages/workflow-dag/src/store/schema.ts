import type { Compilable, CompiledQuery, Generated, Kysely } from 'kysely';

/** Rows as the database has them. JSON is text, times are milliseconds since 1970 UTC. */
export interface Tables {
  wf_migration: { version: number };
  wf_run: RunRow;
  wf_input: InputRow;
  wf_step: StepRow;
  wf_elicit: ElicitRow;
  wf_cache: CacheRow;
  wf_cache_lock: { key: string; expires_at: number };
}

export interface RunRow {
  id: string;
  name: string;
  schema_version: number;
  input_hash: string;
  principal: string;
  tenant: string;
  idempotency_key: string | null;
  created_at: number;
  deadline_at: number;
  status: string;
  started_at: number | null;
  updated_at: number;
  ended_at: number | null;
  output: string | null;
  error: string | null;
  meta: string;
  cancel_requested_at: number | null;
  cancel_reason: string | null;
  lease_owner: string | null;
  lease_epoch: number;
  lease_expires_at: number | null;
  recoveries: number;
  version: number;
}

/**
 * What a run was started with. Apart from its row: that one is written with every step, and SQLite writes a row as a
 * whole, a definition of many kilobytes included.
 */
export interface InputRow {
  run_id: string;
  definition: string;
  params: string;
  vars: string;
  options: string;
}

export interface StepRow {
  /** Order of the first write. */
  seq: Generated<number>;
  run_id: string;
  step_id: string;
  iteration: number;
  status: string;
  attempt: number;
  decided: string | null;
  output: string | null;
  content: string | null;
  error: string | null;
  retry_count: number;
  from_cache: number;
  started_at: number;
  ended_at: number | null;
  lease_epoch: number;
}

export interface ElicitRow {
  run_id: string;
  step_id: string;
  state: string;
  message: string;
  schema: string;
  created_at: number;
  expires_at: number;
  responded_at: number | null;
  action: string | null;
  content: string | null;
}

export interface CacheRow {
  key: string;
  workflow: string;
  tool: string;
  output: string;
  content: string;
  bytes: number;
  created_at: number;
  expires_at: number;
  stale_until: number;
}

/** What differs between databases in the making of tables. */
export interface SchemaDialect {
  /** Type and key of a column that numbers the rows. */
  readonly serial: 'integer' | 'bigserial';
}

type Migration = (db: Kysely<Tables>, dialect: SchemaDialect) => readonly Compilable[];

/** Each brings the tables from one version to the next. What has been published is never changed. */
const MIGRATIONS: readonly Migration[] = [
  (db, { serial }) => [
    ...createRuns(db),
    createInputs(db),
    createSteps(db, serial),
    createQuestions(db),
    ...createCache(db),
  ],
];

function createRuns(db: Kysely<Tables>): readonly Compilable[] {
  let table = db.schema.createTable('wf_run').addColumn('id', 'text', (column) => column.primaryKey());
  for (const name of ['name', 'input_hash', 'principal', 'tenant', 'status', 'meta'] as const) {
    table = table.addColumn(name, 'text', (column) => column.notNull());
  }
  for (const name of [
    'schema_version',
    'created_at',
    'deadline_at',
    'updated_at',
    'lease_epoch',
    'recoveries',
    'version',
  ] as const) {
    table = table.addColumn(name, 'bigint', (column) => column.notNull());
  }
  for (const name of ['idempotency_key', 'output', 'error', 'cancel_reason', 'lease_owner'] as const)
    table = table.addColumn(name, 'text');
  for (const name of ['started_at', 'ended_at', 'cancel_requested_at', 'lease_expires_at'] as const)
    table = table.addColumn(name, 'bigint');
  return [
    table,
    db.schema
      .createIndex('wf_run_idempotency')
      .on('wf_run')
      .columns(['tenant', 'name', 'idempotency_key'])
      .unique()
      .where('idempotency_key', 'is not', null),
    db.schema.createIndex('wf_run_lease').on('wf_run').columns(['status', 'lease_expires_at']),
    db.schema.createIndex('wf_run_ended').on('wf_run').column('ended_at'),
    db.schema.createIndex('wf_run_created').on('wf_run').columns(['created_at', 'id']),
  ];
}

function createInputs(db: Kysely<Tables>): Compilable {
  let table = db.schema
    .createTable('wf_input')
    .addColumn('run_id', 'text', (column) => column.primaryKey().references('wf_run.id').onDelete('cascade'));
  for (const name of ['definition', 'params', 'vars', 'options'] as const) {
    table = table.addColumn(name, 'text', (column) => column.notNull());
  }
  return table;
}

function createSteps(db: Kysely<Tables>, serial: 'integer' | 'bigserial'): Compilable {
  return db.schema
    .createTable('wf_step')
    .addColumn('seq', serial, (column) => column.primaryKey())
    .addColumn('run_id', 'text', (column) => column.notNull().references('wf_run.id').onDelete('cascade'))
    .addColumn('step_id', 'text', (column) => column.notNull())
    .addColumn('iteration', 'integer', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('decided', 'text')
    .addColumn('output', 'text')
    .addColumn('content', 'text')
    .addColumn('error', 'text')
    .addColumn('retry_count', 'integer', (column) => column.notNull())
    .addColumn('from_cache', 'integer', (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('lease_epoch', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('wf_step_key', ['run_id', 'step_id', 'iteration']);
}

function createQuestions(db: Kysely<Tables>): Compilable {
  return db.schema
    .createTable('wf_elicit')
    .addColumn('run_id', 'text', (column) => column.notNull().references('wf_run.id').onDelete('cascade'))
    .addColumn('step_id', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addColumn('schema', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('responded_at', 'bigint')
    .addColumn('action', 'text')
    .addColumn('content', 'text')
    .addPrimaryKeyConstraint('wf_elicit_key', ['run_id', 'step_id']);
}

function createCache(db: Kysely<Tables>): readonly Compilable[] {
  let table = db.schema.createTable('wf_cache').addColumn('key', 'text', (column) => column.primaryKey());
  for (const name of ['workflow', 'tool', 'output', 'content'] as const)
    table = table.addColumn(name, 'text', (column) => column.notNull());
  for (const name of ['bytes', 'created_at', 'expires_at', 'stale_until'] as const) {
    table = table.addColumn(name, 'bigint', (column) => column.notNull());
  }
  const locks = db.schema
    .createTable('wf_cache_lock')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('expires_at', 'bigint', (column) => column.notNull());
  return [table, db.schema.createIndex('wf_cache_stale').on('wf_cache').column('stale_until'), locks];
}

/** The version that {@link migrationStatements} leads to. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The table that tells the version of the others. */
export function migrationTable(db: Kysely<Tables>): CompiledQuery {
  return db.schema
    .createTable('wf_migration')
    .ifNotExists()
    .addColumn('version', 'integer', (column) => column.notNull())
    .compile();
}

/**
 * The statements that bring the tables from a version to the newest, for one transaction that keeps other processes out.
 *
 * @param found - The version in `wf_migration`; 0 where it has no row.
 */
export function migrationStatements(
  db: Kysely<Tables>,
  found: number,
  dialect: SchemaDialect,
): readonly CompiledQuery[] {
  if (found >= SCHEMA_VERSION) return [];
  const steps = MIGRATIONS.slice(found).flatMap((migration) => migration(db, dialect));
  const version = { version: SCHEMA_VERSION };
  const note =
    found === 0 ? db.insertInto('wf_migration').values(version) : db.updateTable('wf_migration').set(version);
  return [...steps, note].map((statement) => statement.compile());
}
