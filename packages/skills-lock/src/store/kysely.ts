import type { Insertable, Kysely, Selectable, Transaction } from 'kysely';
import { sql } from 'kysely';
import type { Scope } from '../clients.js';
import { SkillsLockError } from '../errors.js';
import type { SkillDependency, SkillStatus } from '../types.js';
import type { RecordFilter, RecordKey, SkillRecord, SkillStore } from './port.js';
import type { SkillTables } from './schema.js';

type Row = Selectable<SkillTables['installed_skills']> & { readonly name: string };

/** A store over a Kysely database whose tables exist. `now` answers RFC 3339 times. */
export function createKyselySkillStore(
  database: Kysely<SkillTables>,
  options: { readonly now: () => string },
): SkillStore {
  const rows = (source: Kysely<SkillTables> | Transaction<SkillTables>) =>
    source
      .selectFrom('installed_skills')
      .innerJoin('entries', 'entries.id', 'installed_skills.entry_id')
      .selectAll('installed_skills')
      .select('entries.name')
      .where('entries.entry_type', '=', 'skill');

  const byKey = (source: Kysely<SkillTables> | Transaction<SkillTables>, key: RecordKey) =>
    rows(source)
      .where('entries.name', '=', key.name)
      .where('installed_skills.scope', '=', key.scope)
      .where('installed_skills.project_root', '=', key.projectRoot)
      .executeTakeFirst();

  async function withDependencies(found: readonly Row[]): Promise<readonly SkillRecord[]> {
    if (found.length === 0) return [];
    const dependencies = await database
      .selectFrom('skill_dependencies')
      .selectAll()
      .where(
        'installed_skill_id',
        'in',
        found.map(({ id }) => id),
      )
      .orderBy('dep_reference')
      .execute();
    return found.map((row) =>
      toRecord(row, dependencies.filter(({ installed_skill_id: owner }) => owner === row.id).map(toDependency)),
    );
  }

  const store: SkillStore = {
    async list(filter: RecordFilter = {}) {
      let query = rows(database)
        .orderBy('entries.name')
        .orderBy('installed_skills.scope')
        .orderBy('installed_skills.project_root');
      if (filter.name !== undefined) query = query.where('entries.name', '=', filter.name);
      if (filter.scope !== undefined) query = query.where('installed_skills.scope', '=', filter.scope);
      if (filter.projectRoot !== undefined)
        query = query.where('installed_skills.project_root', '=', filter.projectRoot);
      const records = await withDependencies(await query.execute());
      return filter.client === undefined
        ? records
        : records.filter(({ clients }) => clients.includes(filter.client ?? ''));
    },

    async get(key) {
      const row = await byKey(database, key);
      return row && (await withDependencies([row]))[0];
    },

    async put(record) {
      if (record.managed && record.scope === 'user') {
        throw new SkillsLockError(
          'ERR_SKILLS_LOCK_STORE',
          `${record.name}: a skill of the user scope cannot be managed by a lock file`,
        );
      }
      await database.transaction().execute(async (transaction) => {
        const entryId = await touchEntry(transaction, record.name, options.now());
        const existing = await byKey(transaction, record);
        const values = toRow(record, entryId);
        let id = existing?.id;
        if (id === undefined) {
          id = (
            await transaction.insertInto('installed_skills').values(values).returning('id').executeTakeFirstOrThrow()
          ).id;
        } else {
          const { installed_at: _, ...changes } = values;
          await transaction.updateTable('installed_skills').set(changes).where('id', '=', id).execute();
          await transaction.deleteFrom('skill_dependencies').where('installed_skill_id', '=', id).execute();
        }
        await insertDependencies(transaction, id, record.dependencies);
      });
    },

    async delete(key) {
      return await database.transaction().execute(async (transaction) => {
        // The first statement writes: a transaction that begins by reading cannot always go on to write.
        const deleted = await transaction
          .deleteFrom('installed_skills')
          .where('scope', '=', key.scope)
          .where('project_root', '=', key.projectRoot)
          .where('entry_id', 'in', (entries) =>
            entries.selectFrom('entries').select('id').where('entry_type', '=', 'skill').where('name', '=', key.name),
          )
          .returning('entry_id')
          .executeTakeFirst();
        if (deleted === undefined) return false;
        await transaction
          .deleteFrom('entries')
          .where('id', '=', deleted.entry_id)
          .where(sql<boolean>`NOT EXISTS (SELECT 1 FROM installed_skills WHERE entry_id = entries.id)`)
          .execute();
        return true;
      });
    },

    close: async () => await database.destroy(),
    [Symbol.asyncDispose]: async () => await database.destroy(),
  };
  return store;
}

async function touchEntry(transaction: Transaction<SkillTables>, name: string, now: string): Promise<number> {
  const { id } = await transaction
    .insertInto('entries')
    .values({ entry_type: 'skill', name, created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.columns(['entry_type', 'name']).doUpdateSet({ updated_at: now }))
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

async function insertDependencies(
  transaction: Transaction<SkillTables>,
  owner: number,
  dependencies: readonly SkillDependency[],
): Promise<void> {
  const unique = new Map(dependencies.map((dependency) => [dependency.reference, dependency]));
  if (unique.size === 0) return;
  await transaction
    .insertInto('skill_dependencies')
    .values(
      [...unique.values()].map(({ name, reference, digest }) => ({
        installed_skill_id: owner,
        dep_name: name ?? '',
        dep_reference: reference,
        dep_digest: digest ?? '',
      })),
    )
    .execute();
}

function toRow(record: SkillRecord, entryId: number): Insertable<SkillTables['installed_skills']> {
  return {
    entry_id: entryId,
    scope: record.scope,
    project_root: record.projectRoot,
    reference: record.reference,
    tag: record.tag,
    digest: record.digest,
    version: record.version,
    description: record.description,
    author: record.author,
    tags: Buffer.from(JSON.stringify(record.tags)),
    client_apps: Buffer.from(JSON.stringify(record.clients)),
    status: record.status,
    installed_at: record.installedAt,
    managed: record.managed ? 1 : 0,
    sigstore_bundle: record.bundle === undefined ? null : Buffer.from(record.bundle),
    signed_payload: record.payload === undefined ? null : Buffer.from(record.payload),
  };
}

function toRecord(row: Row, dependencies: readonly SkillDependency[]): SkillRecord {
  return {
    name: row.name,
    scope: row.scope as Scope,
    projectRoot: row.project_root,
    reference: row.reference,
    tag: row.tag,
    digest: row.digest,
    version: row.version,
    description: row.description,
    author: row.author,
    tags: listFrom(row.tags),
    clients: listFrom(row.client_apps),
    status: row.status as SkillStatus,
    installedAt: row.installed_at,
    managed: row.managed === 1,
    dependencies,
    ...(row.sigstore_bundle === null ? {} : { bundle: row.sigstore_bundle }),
    ...(row.signed_payload === null ? {} : { payload: row.signed_payload }),
  };
}

const toDependency = (row: Selectable<SkillTables['skill_dependencies']>): SkillDependency => ({
  reference: row.dep_reference,
  ...(row.dep_name === '' ? {} : { name: row.dep_name }),
  ...(row.dep_digest === '' ? {} : { digest: row.dep_digest }),
});

const listFrom = (json: Buffer | null): readonly string[] =>
  json === null ? [] : (JSON.parse(json.toString()) as string[]);
