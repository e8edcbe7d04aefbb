import type { Scope } from '../clients.js';
import type { SkillDependency, SkillStatus } from '../types.js';

/** Key of an installation: one name may be installed once for the user and once in each project. */
export interface RecordKey {
  readonly name: string;
  readonly scope: Scope;
  /** Empty for user scope. */
  readonly projectRoot: string;
}

/** What is kept of an installation. */
export interface SkillRecord extends RecordKey {
  /** OCI or git reference that it was installed from. */
  readonly reference: string;
  readonly tag: string;
  readonly digest: string;
  readonly version: string;
  readonly description: string;
  readonly author: string;
  readonly tags: readonly string[];
  readonly clients: readonly string[];
  readonly status: SkillStatus;
  /** RFC 3339; set by the first installation and kept. */
  readonly installedAt: string;
  readonly managed: boolean;
  readonly dependencies: readonly SkillDependency[];
  /** JSON of the verified signature bundle, for checks without a network. */
  readonly bundle?: Uint8Array;
  /** The bytes that the bundle signs. */
  readonly payload?: Uint8Array;
}

/** Which records to list. */
export interface RecordFilter {
  readonly name?: string;
  readonly scope?: Scope;
  readonly projectRoot?: string;
  readonly client?: string;
}

/** Keeps installation records; `openSqliteSkillStore` of the `./sqlite` entry opens the real one. */
export interface SkillStore {
  list(filter?: RecordFilter): Promise<readonly SkillRecord[]>;
  get(key: RecordKey): Promise<SkillRecord | undefined>;
  /** Creates or replaces the record of its key; `installedAt` of an existing one is kept. */
  put(record: SkillRecord): Promise<void>;
  /** False when there was none. */
  delete(key: RecordKey): Promise<boolean>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
