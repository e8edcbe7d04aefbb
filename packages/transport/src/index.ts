export { TransportError } from './errors.js';
export type { TransportErrorCode } from './errors.js';
export type { JsonObject, Message, MessageKind, Splice } from './message.js';
export { createMessage, parseMessage, spliceMessage } from './parse-message.js';
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
