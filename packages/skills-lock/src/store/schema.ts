import type { Generated } from 'kysely';

/** Tables of the database of installed skills. */
export interface SkillTables {
  entries: {
    id: Generated<number>;
    entry_type: string;
    name: string;
    created_at: string;
    updated_at: string;
  };
  installed_skills: {
    id: Generated<number>;
    entry_id: number;
    scope: string;
    project_root: string;
    reference: string;
    tag: string;
    digest: string;
    version: string;
    description: string;
    author: string;
    tags: Buffer | null;
    client_apps: Buffer | null;
    status: string;
    installed_at: string;
    managed: number;
    sigstore_bundle: Buffer | null;
    signed_payload: Buffer | null;
  };
  skill_dependencies: {
    installed_skill_id: number;
    dep_name: string;
    dep_reference: string;
    dep_digest: string;
  };
  oci_tags: { reference: string; digest: string };
}

/** SQL of each step; each runs once, in this order; a step that was published never changes. */
export const migrations: readonly string[] = [
  `
    CREATE TABLE entries (
      id INTEGER PRIMARY KEY,
      entry_type TEXT NOT NULL,
      name TEXT NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      UNIQUE (entry_type, name)
    );
    CREATE TABLE installed_skills (
      id INTEGER PRIMARY KEY,
      entry_id INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
      scope TEXT NOT NULL CHECK (scope IN ('user', 'project')),
      project_root TEXT NOT NULL DEFAULT '',
      reference TEXT NOT NULL DEFAULT '',
      tag TEXT NOT NULL DEFAULT '',
      digest TEXT NOT NULL DEFAULT '',
      version TEXT NOT NULL DEFAULT '',
      description TEXT NOT NULL DEFAULT '',
      author TEXT NOT NULL DEFAULT '',
      tags BLOB,
      client_apps BLOB,
      status TEXT NOT NULL CHECK (status IN ('installed', 'pending', 'failed')),
      installed_at TEXT NOT NULL,
      managed INTEGER NOT NULL DEFAULT 0,
      sigstore_bundle BLOB,
      signed_payload BLOB,
      UNIQUE (entry_id, scope, project_root)
    );
    CREATE TABLE skill_dependencies (
      installed_skill_id INTEGER NOT NULL REFERENCES installed_skills (id) ON DELETE CASCADE,
      dep_name TEXT NOT NULL DEFAULT '',
      dep_reference TEXT NOT NULL,
      dep_digest TEXT NOT NULL DEFAULT '',
      PRIMARY KEY (installed_skill_id, dep_reference)
    );
    CREATE TABLE oci_tags (reference TEXT PRIMARY KEY, digest TEXT NOT NULL);
  `,
];
