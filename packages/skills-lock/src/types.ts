import type { Scope } from './clients.js';
import type { FailureReason } from './errors.js';

/** What SKILL.md says about a skill. */
export interface SkillMetadata {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly author: string;
  readonly tags?: readonly string[];
}

/** A skill that an installed one needs. */
export interface SkillDependency {
  readonly name?: string;
  readonly reference: string;
  readonly digest?: string;
}

/** State of an installation record. */
export type SkillStatus = 'installed' | 'pending' | 'failed';

/** An installed skill, in the shape that the REST API answers. */
export interface InstalledSkill {
  readonly metadata: SkillMetadata;
  readonly scope: Scope;
  readonly project_root?: string;
  readonly reference?: string;
  readonly tag?: string;
  readonly digest?: string;
  readonly status: SkillStatus;
  /** RFC 3339. */
  readonly installed_at: string;
  readonly clients?: readonly string[];
  readonly dependencies?: readonly SkillDependency[];
  /** True where `toolhive.lock.yaml` of the project tracks it. */
  readonly managed: boolean;
}

/** A {@link Provenance} in the shape that the REST API answers. */
export interface ProvenanceDto {
  readonly signer_identity?: string;
  readonly cert_issuer?: string;
  readonly repository_uri?: string;
  readonly repository_ref?: string;
  readonly runner_environment?: string;
  readonly sigstore_url?: string;
  readonly public_key?: string;
  readonly provisional?: boolean;
}

/** Which installations to list; absent members do not filter. */
export interface ListSkillsRequest {
  readonly scope?: string;
  readonly client?: string;
  readonly project_root?: string;
  readonly group?: string;
}

/** What to install and where. */
export interface InstallRequest {
  /** Catalogue name, OCI reference, git reference or local path. */
  readonly name: string;
  readonly version?: string;
  readonly scope?: string;
  readonly project_root?: string;
  readonly clients?: readonly string[];
  /** Replaces what stands in the way. */
  readonly force?: boolean;
  readonly allow_unsigned?: boolean;
  /** PEM, or base64 of DER, of a cosign public key. */
  readonly public_key?: string;
  readonly group?: string;
}

/** What was installed, and whose signature it carries. */
export interface InstallResponse {
  readonly skill: InstalledSkill;
  readonly provenance?: ProvenanceDto;
  readonly unsigned?: boolean;
  /** What the user should know: first trust, skipped dependencies, a local build taken. */
  readonly notices?: readonly string[];
}

/** One installation of one name. */
export interface SkillSelector {
  readonly name: string;
  readonly scope?: string;
  readonly project_root?: string;
}

/** All that is known of a skill. */
export interface SkillInfoResponse {
  readonly metadata: SkillMetadata;
  readonly installed_skill?: InstalledSkill;
  readonly provenance?: ProvenanceDto;
  readonly unsigned?: boolean;
}

/** Verdict on a folder with a SKILL.md. */
export interface ValidateResponse {
  readonly valid: boolean;
  readonly errors?: readonly string[];
  readonly warnings?: readonly string[];
}

/** A locally built artifact. */
export interface BuildInfo {
  readonly tag: string;
  readonly digest: string;
  readonly name?: string;
  readonly description?: string;
  readonly version?: string;
}

/** How to sign what is pushed; exactly one of the three. */
export interface PushRequest {
  readonly reference: string;
  /** Path of a cosign private key on the machine that pushes. */
  readonly key?: string;
  /** OIDC identity token for keyless signing. */
  readonly identity_token?: string;
  readonly no_sign?: boolean;
}

/** What a skill consists of, without installing it. */
export interface ContentResponse {
  readonly name: string;
  readonly description: string;
  readonly version?: string;
  readonly license?: string;
  readonly body: string;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/** How to make a project fit its lock file. */
export interface SyncRequest {
  readonly project_root: string;
  readonly clients?: readonly string[];
  /** Uninstalls managed skills that the lock no longer names. */
  readonly prune?: boolean;
  /** Reports alone; nothing is written. */
  readonly check?: boolean;
  /** Takes skills that were never managed into the lock. */
  readonly adopt?: boolean;
  readonly allow_unsigned?: boolean;
}

/** A skill on which an operation failed. */
export interface SkillFailure {
  readonly name: string;
  readonly reason: FailureReason;
  readonly error: string;
}

/** What sync found and did; names, sorted. */
export interface SyncResult {
  readonly installed: readonly string[];
  readonly already_current: readonly string[];
  readonly drifted: readonly string[];
  readonly missing: readonly string[];
  readonly removed_from_lock: readonly string[];
  readonly never_managed: readonly string[];
  readonly pruned: readonly string[];
  readonly adopted: readonly string[];
  readonly failed: readonly SkillFailure[];
  /** Why a drifted skill counts as such, by name. */
  readonly drift: Readonly<Record<string, readonly string[]>>;
}

/** Which skills to move to what their source stands for now. */
export interface UpgradeRequest {
  readonly project_root: string;
  /** All locked skills when absent or empty. */
  readonly names?: readonly string[];
  readonly preview?: boolean;
  readonly fail_on_changes?: boolean;
  readonly allow_ref_change?: boolean;
  readonly allow_signer_change?: boolean;
  readonly clients?: readonly string[];
}

/** What upgrade did, or would do, with one skill. */
export type UpgradeStatus =
  'upgraded' | 'up-to-date' | 'not-upgradable' | 'ref-change-blocked' | 'signer-change-blocked' | 'failed';

/** Outcome for one skill. */
export interface UpgradeOutcome {
  readonly name: string;
  readonly status: UpgradeStatus;
  readonly old_digest?: string;
  readonly new_digest?: string;
  readonly new_resolved_reference?: string;
  readonly new_signer_identity?: string;
  /** True where a signed skill would become an unsigned one. */
  readonly downgraded?: boolean;
  readonly reason?: FailureReason;
  readonly error?: string;
}

/** Everything that a command line or an HTTP API calls; each method takes a signal. */
export interface SkillService {
  list(request?: ListSkillsRequest, options?: CallOptions): Promise<readonly InstalledSkill[]>;
  install(request: InstallRequest, options?: CallOptions): Promise<InstallResponse>;
  info(selector: SkillSelector, options?: CallOptions): Promise<SkillInfoResponse>;
  uninstall(selector: SkillSelector, options?: CallOptions): Promise<void>;
  validate(
    request: { readonly path: string; readonly strict?: boolean },
    options?: CallOptions,
  ): Promise<ValidateResponse>;
  build(
    request: { readonly path: string; readonly tag?: string },
    options?: CallOptions,
  ): Promise<{ readonly reference: string }>;
  push(request: PushRequest, options?: CallOptions): Promise<void>;
  builds(options?: CallOptions): Promise<readonly BuildInfo[]>;
  removeBuild(tag: string, options?: CallOptions): Promise<void>;
  content(reference: string, options?: CallOptions): Promise<ContentResponse>;
  sync(request: SyncRequest, options?: CallOptions): Promise<SyncResult>;
  upgrade(request: UpgradeRequest, options?: CallOptions): Promise<{ readonly outcomes: readonly UpgradeOutcome[] }>;
}

/** Cancels a call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}
