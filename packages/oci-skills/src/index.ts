export { OciSkillsError } from './errors.js';
export type { OciSkillsErrorCode, OciSkillsErrorOptions } from './errors.js';
export { LIMITS } from './limits.js';

export { checkSkillFile, parseSkill } from './skill/skill-file.js';
export { validateSkill } from './skill/validate.js';

export { contentDigest, directoryDigest } from './content-digest.js';
export { packSkill } from './pack.js';
export { unpackSkill } from './unpack.js';
export { readLayer } from './archive/layer.js';
export { writeSkill } from './archive/write-skill.js';
export { createTreeGuard } from './archive/tree-guard.js';
export type { TreeGuard, TreeGuardOptions } from './archive/tree-guard.js';

export { chooseBuildTag, formatReference, isReference, isUnambiguousReference, parseReference } from './reference.js';
export type { ChooseBuildTagOptions } from './reference.js';
export { withProcessLock } from './process-lock.js';
export type { ProcessLockOptions } from './process-lock.js';
export { defaultStoreDirectory, openStore } from './store/store.js';
export { createRegistry } from './registry/registry.js';
export { isPrivateAddress, resolvePublicHost } from './registry/host.js';
export type { HostOptions } from './registry/host.js';

export { createKeyPair, parsePublicKey } from './signature/key.js';
export type { KeyPair, KeyPairOptions } from './signature/key.js';
export { signaturePayload } from './signature/payload.js';
export { matchProvenance } from './signature/identity.js';
export { signArtifact } from './signature/sign.js';
export { verifySignature, verifyStoredSignature } from './signature/verify.js';
export { verifyCommitSignature } from './signature/commit.js';

export type {
  Blob,
  CallOptions,
  CatalogueProvenance,
  Clock,
  CredentialProvider,
  Descriptor,
  DiagnosticSeverity,
  LookupAddresses,
  PackSkillOptions,
  PackedSkill,
  ParseReferenceOptions,
  Provenance,
  PullOptions,
  PushResult,
  ReadLayerOptions,
  Reference,
  Registry,
  RegistryCredentials,
  RegistryOptions,
  SignArtifactOptions,
  SignResult,
  SignaturePolicy,
  SigningMethod,
  Skill,
  SkillArtifact,
  SkillBuild,
  SkillContent,
  SkillDiagnostic,
  SkillFile,
  SkillFileContent,
  SkillFileOptions,
  SkillFileReport,
  SkillFrontMatter,
  SkillLabels,
  SkillRequirement,
  SkillStore,
  SkillValidation,
  StoreOptions,
  StoreTag,
  TagOptions,
  TrustOptions,
  UnpackSkillOptions,
  UnpackedSkill,
  ValidateSkillOptions,
  VerifiedSignature,
  VerifyCommitOptions,
  VerifySignatureOptions,
  VerifyStoredSignatureOptions,
  WriteSkillOptions,
} from './types.js';
