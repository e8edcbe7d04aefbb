export { systemClock } from './clock.js';
export { formatDuration, parseDuration } from './duration.js';
export { TransportError } from './errors.js';
export type { TransportErrorCode } from './errors.js';
export { findFreePort, isPortFree } from './http/free-port.js';
export { openListener } from './http/listener.js';
export type { Listener, ListenerOptions } from './http/listener.js';
export { splitArray } from './json/split-array.js';
export { createMemoryConnection } from './memory-connection.js';
export type { MemoryPeer } from './memory-connection.js';
export type { JsonObject, Message, MessageKind, Splice } from './message.js';
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
export type { RestartOptions } from './stdio/backoff.js';
export { createStdioConnection } from './stdio/connection.js';
export type { StdioConnection, StdioConnectionOptions } from './stdio/connection.js';
export { spliceMessage } from './splice-message.js';
export { signalGroup } from './stdio/process-group.js';
