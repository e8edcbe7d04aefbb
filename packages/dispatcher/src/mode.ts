import type { Message, Principal } from '@thv/transport';
import type { DeadlineWheel } from './deadlines.js';
import type { Drops } from './drops.js';
import type { DispatcherSettings } from './options.js';
import type { ListenFilter, Listener, Listening } from './listeners.js';
import type { Failure, Reply } from './outcome.js';
import type { ClientSession } from './sessions.js';

/** Who a message comes from. */
export interface Origin {
  /** A live session, as `dispatcher.session()` answers it. */
  readonly session: ClientSession | undefined;
  readonly principal: Principal | undefined;
  /** The end of the client's connection cancels the request, as 2026-07-28 demands. @defaultValue false */
  readonly cancelWhenGone?: boolean;
}

/** What a server said of itself in its handshake. */
export interface ServerAgreement {
  readonly protocolVersion: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serverInfo: Readonly<Record<string, unknown>> | undefined;
  readonly instructions: string | undefined;
}

/** What became of a message without an answer. */
export type Taken = 'taken' | 'busy' | 'unknown-id';

/** The live sessions that a mode has to do with. */
export interface Sessions extends Iterable<ClientSession> {
  readonly size: number;
  countOf(key: string | undefined): number;
  add(session: ClientSession): void;
  end(session: ClientSession): void;
  endAll(): void;
}

/** What all isolation modes share. */
export interface ModeContext {
  readonly settings: DispatcherSettings;
  readonly wheel: DeadlineWheel;
  readonly sessions: Sessions;
  readonly drops: Drops;
  /** Hands a message to the standalone stream of a session, present or resumable. */
  deliver(
    session: ClientSession,
    message: Message,
    options?: { readonly key?: string; readonly keep?: boolean },
  ): boolean;
}

/** What distinguishes one isolation mode from another. */
export interface Mode {
  start(signal?: AbortSignal): Promise<void>;
  /** Makes sure that the backend answers, where there is one before any client. */
  ready(): Promise<Failure | undefined>;
  /** What the shared handshake agreed on; makes it where it was not made. */
  agreement?(origin?: Origin): Promise<ServerAgreement | Failure>;
  /** Subscribes a client that has no session. */
  listen?(filter: ListenFilter, listener: Listener, origin?: Origin): Promise<Listening | Failure>;
  /** What the shared backend wrote to stderr before it went away. */
  readonly stderrTail: readonly string[];
  initialize(message: Message, reply: Reply, origin: Origin): void;
  request(message: Message, reply: Reply, origin: Origin): void;
  notify(message: Message, session: ClientSession | undefined): Taken;
  respond(message: Message, session: ClientSession | undefined): Taken;
  sessionEnded(session: ClientSession): void;
  streamOpened(session: ClientSession): void;
  /** Why nothing can be taken now. */
  refusal(): Failure | undefined;
  setPaused(paused: boolean): void;
  counts(): { inFlight: number; queued: number; restarts: number; backends: number };
  close(): Promise<void>;
}
