export { resolveClients, skillClients, skillFolder, skillsFolder } from './clients.js';
export type { ClientPlace, Scope, SkillClient } from './clients.js';
export { SkillsLockError } from './errors.js';
export type { FailureReason, SkillsLockErrorCode } from './errors.js';
export { createHostGuard } from './git/guard.js';
export { formatGitReference, parseGitReference } from './git/reference.js';
export type { GitReference } from './git/reference.js';
export { createGitResolver } from './git/resolve.js';
export type { GitResolver, GitResolverOptions, GitSkill, HostGuard } from './git/resolve.js';
export { signInWithBrowser } from './identity/browser.js';
export type { BrowserSignInOptions } from './identity/browser.js';
export { acquireIdentityToken } from './identity/ladder.js';
export type { IdentityOptions } from './identity/ladder.js';
export { findEntry, putEntry, removeEntry } from './lock/edit.js';
export { readLock, updateLock } from './lock/file.js';
export type { LockFileOptions } from './lock/file.js';
export { emptyLock, parseLock } from './lock/parse.js';
export type { ReferenceRules } from './lock/rules.js';
export { serialiseLock } from './lock/serialise.js';
export { printable } from './lock/text.js';
export { LOCK_FILE_NAME } from './lock/types.js';
export type { LockEntry, LockFile, LockKey } from './lock/types.js';
export type { Catalogue, CataloguePackage, CatalogueSkill, Groups } from './ports.js';
export { findProjectRoot } from './project-root.js';
export type { SkillServiceOptions } from './service/context.js';
export { references } from './service/context.js';
export { createSkillService } from './service/create.js';
export { planSync } from './service/sync.js';
export type { SyncState, SyncStep } from './service/sync.js';
export { describeSigner } from './service/trust.js';
export { isSkillName } from './skill-name.js';
export type { RecordFilter, RecordKey, SkillRecord, SkillStore } from './store/port.js';
export type {
  BuildInfo,
  CallOptions,
  ContentResponse,
  InstalledSkill,
  InstallRequest,
  InstallResponse,
  ListSkillsRequest,
  ProvenanceDto,
  PushRequest,
  SkillDependency,
  SkillFailure,
  SkillInfoResponse,
  SkillMetadata,
  SkillSelector,
  SkillService,
  SkillStatus,
  SyncRequest,
  SyncResult,
  UpgradeOutcome,
  UpgradeRequest,
  UpgradeStatus,
  ValidateResponse,
} from './types.js';
