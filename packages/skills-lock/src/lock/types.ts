/**
 * Whose signature a locked skill is pinned to: either a certificate identity (keyless) or one public key.
 * An entry never carries both, since they are checked by different policies against different roots.
 */
export interface Provenance {
  /** Subject alternative name; for a CI workflow the path within the repository, such as `/.github/workflows/release.yml`. */
  readonly signerIdentity?: string;
  /** OIDC issuer of the certificate. */
  readonly certIssuer?: string;
  readonly repositoryUri?: string;
  /** Git ref that the signing workflow ran on. */
  readonly repositoryRef?: string;
  /** Runner class of the signing workflow, such as `github-hosted`. */
  readonly runnerEnvironment?: string;
  /** Transparency log that the signature is recorded in. */
  readonly sigstoreUrl?: string;
  /** Base64 of the DER SubjectPublicKeyInfo of a cosign key, on one line. */
  readonly publicKey?: string;
  /** True where the time of the signature is not proved by a transparency log (signed git commits). */
  readonly provisional?: boolean;
}

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
