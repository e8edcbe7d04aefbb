import type { Provenance } from '@thv/oci-skills';

/** One locked skill. */
export interface LockEntry {
  readonly name: string;
  readonly version?: string;
  /** Exactly what the user or the catalogue asked for; never rewritten. */
  readonly source: string;
  /** What `source` stood for when it was locked: a full OCI or git reference. */
  readonly resolvedReference?: string;
  /** The pin: `sha256:` and 64 hex digits of an OCI manifest, or a git commit of 40 or 64 hex digits. */
  readonly digest: string;
  /** Digest over the installed files. */
  readonly contentDigest?: string;
  /** Whose signature the skill is pinned to: a certificate identity or one public key, never both. */
  readonly provenance?: Provenance;
  /** A standing exception: the skill is not signed, and somebody accepted that. */
  readonly unsigned?: boolean;
  /** Names of the skills that need this one. */
  readonly requiredBy?: readonly string[];
  /** True where somebody installed it by name, and not only as a dependency. */
  readonly explicit?: boolean;
}

/** The two lists of a lock file; each has its own names. */
export type LockKey = 'skills' | 'plugins';

/** A lock file in memory, sorted by name. Keys that this version does not know live in `extras`. */
export interface LockFile {
  readonly version: 1;
  readonly skills: readonly LockEntry[];
  readonly plugins: readonly LockEntry[];
  /** Unknown top-level keys. */
  readonly extras: ReadonlyMap<string, unknown>;
  /** Unknown keys of entries, by list and name; dropped for an entry that is replaced. */
  readonly entryExtras: ReadonlyMap<LockEntry, ReadonlyMap<string, unknown>>;
}

/** Name of the file at the root of a project. */
export const LOCK_FILE_NAME = 'toolhive.lock.yaml';
