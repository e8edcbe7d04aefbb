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
export { ask } from './ask.js';
export type { Ask, Roots, SampledMessage } from './ask.js';
export { INVALID_RESPONSES, readAnswers } from './answers.js';
export type { Answer, Answers } from './answers.js';
export { driveRounds, resumeRounds } from './driver/drive.js';
export type { Driven, DriveOptions, DrivenRequest, SendRequest } from './driver/drive.js';
export { Suspend, declaredBy } from './driver/declare.js';
export type { InputHandler, InputHandlers } from './driver/declare.js';
export { inputRequired } from './input-required.js';
export type { Asks } from './input-required.js';
export { rounds } from './rounds.js';
export type {
  Asked,
  Flow,
  OpenRound,
  RoundsContext,
  RoundsOptions,
  RoundsServer,
  Served,
  SettledAnswers,
} from './rounds.js';
export type { FormContent, FormField, FormSchema } from './schema.js';
