export { runBridge } from './bridge/bridge.js';
export type { BridgeOptions, BridgeOutcome } from './bridge/options.js';
export { buildError, buildNotification, buildRequest, buildResult } from './build-message.js';
export { MiddlewareChain } from './chain.js';
export type { FrameFilter } from './chain.js';
export { checkModernHeaders, claimedVersion, classify } from './classify.js';
export type { Classification, ClassificationError } from './classify.js';
export { systemClock } from './clock.js';
export { formatDuration, parseDuration } from './duration.js';
export { TransportError } from './errors.js';
export type { TransportErrorCode } from './errors.js';
export { errorBytes } from './error-body.js';
export { createTransparentProxy } from './http/forward/transparent-proxy.js';
export type { TransparentProxy } from './http/forward/transparent-proxy.js';
export type { TransparentProxyOptions } from './http/forward/options.js';
export type { UpstreamClass, UpstreamFailure } from './http/forward/upstream-error.js';
export { createHealthMonitor } from './http/health-monitor.js';
export type { HealthLook, HealthMonitor, HealthOptions } from './http/health-monitor.js';
export { findFreePort, isPortFree } from './http/free-port.js';
export { healthResponse } from './http/health.js';
export type { HealthReport } from './http/health.js';
export { openListener } from './http/listener.js';
export type { Listener, ListenerOptions } from './http/listener.js';
export { createOriginPolicy, isLoopback } from './http/origin.js';
export type { OriginPolicy, OriginPolicyOptions } from './http/origin.js';
export { editMembers } from './json/edit.js';
export type { MemberEdits } from './json/edit.js';
export { splitArray } from './json/split-array.js';
export { createKeyedMutex } from './keyed-mutex.js';
export type { KeyedMutex } from './keyed-mutex.js';
export { createMemoryConnection } from './memory-connection.js';
export type { MemoryPeer } from './memory-connection.js';
export type { JsonObject, Message, MessageKind, Splice } from './message.js';
export { isRetry, metaOf, stringParam } from './outline.js';
export { createMessage, parseMessage } from './parse-message.js';
export type {
  Clock,
  Connection,
  ConnectionDown,
  ConnectionHandlers,
  ConnectionState,
  Middleware,
  Principal,
  Refusal,
  RequestContext,
  Sink,
  Verdict,
} from './ports.js';
export { idKey } from './request-id.js';
export {
  LEGACY_VERSIONS,
  MCP_HEADERS,
  MODERN_VERSION,
  RPC_CODES,
  decodeHeaderValue,
  encodeHeaderValue,
  isKnownVersion,
} from './revision.js';
export { createSessionManager, principalKey } from './session/manager.js';
export type { NewSession, SessionManager, SessionManagerOptions } from './session/manager.js';
export { createMemorySessionStore } from './session/memory.js';
export type { SessionRecord, SessionStore } from './session/store.js';
export type { RestartOptions } from './stdio/backoff.js';
export { createStdioConnection } from './stdio/connection.js';
export type { StdioConnection, StdioConnectionOptions } from './stdio/connection.js';
export { spliceMessage } from './splice-message.js';
export { createSseDecoder } from './sse/decode.js';
export type { DecodedEvent, SseDecoder } from './sse/decode.js';
export { SSE_HEADERS, encodeSseComment, encodeSseEvent } from './sse/encode.js';
export type { SseEvent } from './sse/encode.js';
export { signalGroup } from './stdio/process-group.js';
