export type {
  ClientCapabilities,
  InputRequest,
  InputRequestMethod,
  InputRequests,
  InputRequiredResult,
  InputRequiringMethod,
  InputResponseRequestParams,
  InputResponses,
  JsonObject,
  JsonValue,
} from './types.js';
export { MrtrError } from './errors.js';
export type { MrtrErrorCode } from './errors.js';
export {
  MISSING_CAPABILITY,
  missingCapabilities,
  missingCapabilityError,
  missingForAll,
  requiredCapabilities,
} from './capabilities.js';
export type { MissingCapabilityError } from './capabilities.js';
export { INVALID_STATE, createStateCodec } from './state/codec.js';
export type {
  FlowPosition,
  OpenedState,
  RejectReason,
  RejectedState,
  StateBinding,
  StateCodec,
  StateCodecOptions,
  StatePrincipal,
} from './state/codec.js';
export type { StateKey } from './state/keyring.js';
export { createMemoryReplayGuard, createMemoryStateStore } from './state/store.js';
export type { MemoryLimits, ReplayGuard, StateStore } from './state/store.js';
