import type { Failure, ListenFilter, Listener, Listening, Reply } from '@thv/dispatcher';
import type { JsonObject, Message, RequestContext } from '@thv/transport';

/** What a server says of itself to `server/discover`. */
export interface ServerDescription {
  readonly capabilities: JsonObject;
  readonly serverInfo?: JsonObject;
  readonly instructions?: string;
  /** Versions that the server itself named; absent for one that knows no discovery. */
  readonly supportedVersions?: readonly string[];
}

/**
 * A server as clients of 2026-07-28 see it. A relay, a bridge to an older server, or a server in this process implements
 * it; the gateway puts the HTTP edge and the older clients in front.
 */
export interface ModernServer {
  /** The answer, or why there is none now. */
  discover(context?: RequestContext): Promise<ServerDescription | Failure>;
  /**
   * Takes any request but `server/discover` and `subscriptions/listen`; envelope and headers are checked. The reply is
   * settled exactly once, with results of 2026-07-28. When the client goes away, `reply.onGone` is called: set it where
   * there is something to cancel.
   */
  request(message: Message, reply: Reply, context: RequestContext): void;
  /** Opens a subscription. */
  listen(filter: ListenFilter, listener: Listener, context: RequestContext): Promise<Listening | Failure>;
  /** Called when the tools may have changed, where the server can tell. */
  onToolsChanged?: (() => void) | undefined;
  close(): Promise<void>;
}

/** Whether an answer is a failure: descriptions and subscriptions have no `reason`. */
export const isFailure = (value: object): value is Failure => 'reason' in value && 'status' in value;
