/** Severity of a {@link SkillDiagnostic}: an error keeps a skill from being installed, a warning does not. */
export type DiagnosticSeverity = 'error' | 'warning';

/** One finding about a skill directory or a SKILL.md, with its place. */
export interface SkillDiagnostic {
  /** Stable identifier such as `skill/name-format`. */
  readonly rule: string;
  readonly severity: DiagnosticSeverity;
  /** What is wrong, with the value, and what to do. */
  readonly message: string;
  /** Path below the skill's directory, `/`-separated. */
  readonly file: string;
  /** 1-based line in `file`, where there is one. */
  readonly line?: number;
  /** 1-based column, in UTF-16 code units as editors count. */
  readonly column?: number;
}

/** A dependency named by `toolhive.requires`: an OCI reference, a git reference or a plain name. */
export interface SkillRequirement {
  readonly reference: string;
}

/** The front matter of a SKILL.md. Texts are as written (`version: 1.10` is `"1.10"`); absent ones are `''`. */
export interface SkillFrontMatter {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly license: string;
  readonly compatibility: string;
  readonly allowedTools: readonly string[];
  readonly requires: readonly SkillRequirement[];
  readonly metadata: ReadonlyMap<string, string>;
}

/** A parsed SKILL.md. */
export interface Skill extends SkillFrontMatter {
  /** The Markdown after the front matter. */
  readonly body: string;
}

/** What reading a SKILL.md found. `skill` is there whenever the front matter could be read, valid or not. */
export interface SkillFileReport {
  readonly skill?: Skill;
  readonly errors: readonly SkillDiagnostic[];
  readonly warnings: readonly SkillDiagnostic[];
}

/** The verdict over a skill directory. */
export interface SkillValidation extends SkillFileReport {
  readonly valid: boolean;
}

/** Options of everything that reads a SKILL.md. */
export interface SkillFileOptions {
  /**
   * Also report what the Agent Skills specification itself does not know (`version`, `toolhive.requires`, unknown
   * fields), as errors.
   *
   * @defaultValue false
   */
  readonly strict?: boolean;
  /**
   * How `allowed-tools` and `toolhive.requires` are split: `parentheses` keeps `Bash(git add:*)` whole, `plain`
   * splits at every comma or white space, as the reference implementation does.
   *
   * @defaultValue 'parentheses'
   */
  readonly toolSplitting?: 'parentheses' | 'plain';
}

/** Options of `validateSkill`. */
export interface ValidateSkillOptions extends SkillFileOptions {
  readonly signal?: AbortSignal;
}

/** An OCI content descriptor. @see https://github.com/opencontainers/image-spec/blob/main/descriptor.md */
export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:` and 64 lower-case hexadecimal digits. */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  readonly artifactType?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: { readonly architecture: string; readonly os: string };
}

/** Content with its descriptor; `digest` and `size` are true of `bytes`. */
export interface Blob extends Descriptor {
  readonly bytes: Uint8Array;
}

/** A file of a skill, `path` below the skill's directory and `/`-separated. */
export interface SkillFile {
  readonly path: string;
  readonly size: number;
}

/** A file of a skill with its content. */
export interface SkillFileContent extends SkillFile {
  readonly bytes: Uint8Array;
}

/** Options of `packSkill`. */
export interface PackSkillOptions extends SkillFileOptions {
  /**
   * Seconds since 1970 that the artifact says it was created at and its files were modified at.
   *
   * @defaultValue `SOURCE_DATE_EPOCH` of `env`, else 0
   */
  readonly epochSeconds?: number;
  /** Environment variables; only `SOURCE_DATE_EPOCH` is read. @defaultValue `{}` */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** `os/architecture` pairs in the order of the index. @defaultValue `['linux/amd64', 'linux/arm64']` */
  readonly platforms?: readonly string[];
  readonly signal?: AbortSignal;
}

/** A skill packed as an OCI artifact, all of it in memory. */
export interface PackedSkill {
  /** Digest of `index`: what a lock file pins and a signature covers. */
  readonly digest: string;
  readonly index: Blob;
  /** One a platform, in the order of the index. */
  readonly manifests: readonly Blob[];
  readonly configs: readonly Blob[];
  /** The files as tar and gzip; every platform's manifest names this one layer. */
  readonly layer: Blob;
  /** SHA-256 of the uncompressed tar. */
  readonly diffId: string;
  readonly contentDigest: string;
  readonly skill: Skill;
  /** In the archive's order. */
  readonly files: readonly SkillFile[];
  readonly warnings: readonly SkillDiagnostic[];
}

/** Options of everything that reads a layer. */
export interface ReadLayerOptions {
  /** What the compressed bytes must hash to. */
  readonly digest?: string;
  /** What the uncompressed tar must hash to. */
  readonly diffId?: string;
  /** The layer's SKILL.md must parse and carry this name. */
  readonly expectedName?: string;
  /** Lower limits than {@link LIMITS}; a value above the default is refused. */
  readonly maxFiles?: number;
  readonly maxTotalBytes?: number;
  readonly maxCompressedBytes?: number;
  readonly signal?: AbortSignal;
}

/** Options of `writeSkill`. */
export interface WriteSkillOptions {
  /** The root SKILL.md must parse and carry this name. */
  readonly expectedName?: string;
  /**
   * Replace a directory that has something in it. It is moved aside, and removed after the new one is in place.
   *
   * @defaultValue false
   */
  readonly replace?: boolean;
  /** Flush every file and the directories to the disk before the rename. @defaultValue false */
  readonly fsync?: boolean;
  /**
   * A directory that may be reached through symbolic links (home, project root). No component between it and the
   * target may be one.
   *
   * @defaultValue the target's parent directory
   */
  readonly trustedBase?: string;
  readonly signal?: AbortSignal;
}

/** Options of `unpackSkill`. */
export interface UnpackSkillOptions extends ReadLayerOptions, WriteSkillOptions {}

/** What `unpackSkill` and `writeSkill` have written. */
export interface UnpackedSkill {
  /** Absolute path of the directory. */
  readonly directory: string;
  readonly files: readonly SkillFile[];
  readonly totalBytes: number;
  readonly contentDigest: string;
  /** SHA-256 of the uncompressed tar; `''` when the files did not come from a layer. */
  readonly diffId: string;
  /** Bytes of the root SKILL.md. */
  readonly skillFile: Uint8Array;
  readonly warnings: readonly SkillDiagnostic[];
}

/** A skill's files in memory, for a preview or to be written with `writeSkill`. */
export interface SkillContent {
  readonly files: readonly SkillFileContent[];
  readonly totalBytes: number;
  readonly contentDigest: string;
  readonly diffId: string;
  readonly skillFile: Uint8Array;
  readonly warnings: readonly SkillDiagnostic[];
}

/** A parsed OCI reference. */
export interface Reference {
  /** As the user wrote it. */
  readonly source: string;
  /** The registry's name: `ghcr.io`, `localhost:5000`, `index.docker.io`. */
  readonly registry: string;
  /** Where the registry's API is: differs from `registry` for Docker Hub only. */
  readonly apiHost: string;
  /** Without the registry: `library/x` for `x` on Docker Hub. */
  readonly repository: string;
  /** The last component of `repository`. */
  readonly name: string;
  /** `''` when the reference names none. */
  readonly tag: string;
  /** `''` when the reference names none. */
  readonly digest: string;
}

/** Options of `parseReference`. */
export interface ParseReferenceOptions {
  /**
   * `weak` reads a missing tag as `latest`; `strict` demands a tag or a digest.
   *
   * @defaultValue 'weak'
   */
  readonly mode?: 'weak' | 'strict';
}

/** What the labels and annotations of an artifact say about its skill. */
export interface SkillLabels {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly license: string;
  readonly allowedTools: readonly string[];
  readonly files: readonly string[];
  readonly requires: readonly string[];
}

/** A skill artifact whose every part was verified against its digest. */
export interface SkillArtifact {
  /** Digest of the root: an index, or a manifest of a single platform. */
  readonly digest: string;
  readonly root: Blob;
  readonly manifests: readonly Blob[];
  readonly configs: readonly Blob[];
  readonly layer: Blob;
  readonly diffId: string;
  readonly labels: SkillLabels;
}

/** A build in the local store, as `thv skill builds` lists it. */
export interface SkillBuild {
  readonly tag: string;
  readonly digest: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
}

/** Options of one call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Options of `openStore`. */
export interface StoreOptions {
  /** How long to wait for another process that changes the store. @defaultValue 5000 */
  readonly lockTimeoutMs?: number;
  /** Create the directory when it is missing. @defaultValue true */
  readonly create?: boolean;
}

/** Options of `SkillStore.put` and `SkillStore.tag`. */
export interface TagOptions extends CallOptions {
  /** Name that the artifact is found under: a bare tag for a build, the full reference text for a pull. */
  readonly tag?: string;
  /** Mark the tag as built here: only those are listed by `listBuilds` and may stand for a plain name. */
  readonly localBuild?: boolean;
}

/** A tag of the local store. */
export interface StoreTag {
  readonly tag: string;
  readonly localBuild: boolean;
  readonly descriptor: Descriptor;
}

/** An OCI image layout on this machine. Every read is verified against its digest. */
export interface SkillStore extends AsyncDisposable {
  readonly directory: string;
  /** Write an artifact's blobs and make it findable by digest, and by `tag` when one is given. */
  put(artifact: PackedSkill | SkillArtifact, options?: TagOptions): Promise<Descriptor>;
  /** @throws OciSkillsError `ERR_OCI_SKILLS_NOT_FOUND` */
  resolve(tagOrDigest: string, options?: CallOptions): Promise<Descriptor>;
  /** Give an artifact that is in the store one more name. */
  tag(digest: string, options: TagOptions & { readonly tag: string }): Promise<void>;
  /** Remove a tag, then every blob that nothing reaches any more. @throws OciSkillsError `ERR_OCI_SKILLS_NOT_FOUND` */
  remove(tag: string, options?: CallOptions): Promise<void>;
  listTags(options?: CallOptions): Promise<readonly StoreTag[]>;
  /** Tags that were built here and are readable skills, by tag. */
  listBuilds(options?: CallOptions): Promise<readonly SkillBuild[]>;
  /** Read a whole artifact. @throws OciSkillsError `ERR_OCI_SKILLS_NOT_FOUND`, `ERR_OCI_SKILLS_STORE`, `ERR_OCI_SKILLS_ARTIFACT` */
  read(tagOrDigest: string, options?: CallOptions): Promise<SkillArtifact>;
  /** @throws OciSkillsError `ERR_OCI_SKILLS_STORE` when the bytes on disk do not hash to `digest` */
  readBlob(digest: string, options?: CallOptions): Promise<Uint8Array>;
  close(): Promise<void>;
}

export type {
  Clock,
  CredentialProvider,
  LookupAddresses,
  PullOptions,
  PushResult,
  Registry,
  RegistryCredentials,
  RegistryOptions,
} from './types-registry.js';
export type {
  CatalogueProvenance,
  Provenance,
  SignArtifactOptions,
  SignResult,
  SignaturePolicy,
  SigningMethod,
  TrustOptions,
  VerifiedSignature,
  VerifyCommitOptions,
  VerifySignatureOptions,
  VerifyStoredSignatureOptions,
} from './types-signature.js';
