import type { Message, Principal } from '@thv/transport';
import { DeadlineWheel } from './deadlines.js';
import { DispatcherError } from './errors.js';
import { Drops } from './drops.js';
import { EventLog } from './event-log.js';
import { FlowGuard } from './flow-guard.js';
import type { ListenFilter, Listener, Listening } from './listeners.js';
import type { Mode, ModeContext, Origin, ServerAgreement, Taken } from './mode.js';
import { settingsFrom } from './options.js';
import type { DispatcherOptions, DispatcherSettings } from './options.js';
import { SESSION_REQUIRED, SHUTDOWN } from './outcome.js';
import type { Failure, Reply } from './outcome.js';
import { SessionMode } from './pool.js';
import { PrincipalMode } from './principal.js';
import { ResumableReply } from './resume.js';
import { SessionTable } from './sessions.js';
import type { ClientSession } from './sessions.js';
import { SharedMode } from './shared.js';
import { openStandalone } from './standalone.js';
import { ServerStream } from './streams.js';
import type { StreamSink } from './streams.js';

const DRAIN_CHECK_MS = 25;

/** Figures of a dispatcher at one moment. */
export interface DispatcherStats {
  readonly sessions: number;
  readonly streams: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly restarts: number;
  readonly backends: number;
  /** Receivers that lag behind. */
  readonly lagging: number;
  /** Messages that were not delivered, by reason. */
  readonly drops: Readonly<Record<string, number>>;
}

/**
 * Brings many clients and their backend together. It knows no HTTP and no process: requests come in as messages with a
 * {@link Reply}, streams as sinks, and the backend is a connection.
 */
export interface Dispatcher {
  readonly isolation: 'shared' | 'session' | 'principal';
  /** What slow receivers are watched by; edges report their sinks here. */
  readonly flow: FlowGuard;
  /** The settings in force, defaults filled in. */
  readonly settings: DispatcherSettings;
  /** Starts a shared backend; without this call the first request does. Rejects as the connection's start does. */
  start(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Resolves once a shared backend answered the handshake.
   * @throws DispatcherError `ERR_DISPATCHER_HANDSHAKE` when it refuses or does not answer; `details` has the reason and
   * `stderrTail`, the last lines that a process wrote before it ended
   */
  ready(): Promise<void>;
  /** What a shared backend agreed on in its handshake, which is made where it was not; or why there is none. */
  agreement(origin?: Origin): Promise<ServerAgreement | Failure>;
  /**
   * Subscribes a client of 2026-07-28 to changes at a shared backend. It shares the subscriptions of the sessions: the
   * backend hears of the first and of the last one for each URI.
   */
  listen(filter: ListenFilter, listener: Listener, origin?: Origin): Promise<Listening | Failure>;
  /** The live session with that id that belongs to the principal; the look counts as activity. */
  session(id: string, principal?: Principal): ClientSession | undefined;
  /** Why no request can be taken now: the backend is down, or everything is shutting down. */
  refusal(): Failure | undefined;
  /** Takes a request, `initialize` included; the reply is settled exactly once. */
  request(message: Message, reply: Reply, origin: Origin): void;
  /** Takes a notification of a client. */
  notify(message: Message, origin: Origin): Taken;
  /** Takes an answer of a client to a request of the server. */
  respond(message: Message, origin: Origin): Taken;
  /** Opens the standalone stream of a session, or resumes a stream; an earlier one of the session ends. */
  openStream(session: ClientSession, sink: StreamSink, options?: { readonly lastEventId?: string | undefined }): void;
  /** Ends a session, its routing and its stream. What is on its way is still answered. */
  endSession(session: ClientSession): void;
  stats(): DispatcherStats;
  /**
   * Takes no more requests, waits up to `drainMs` for those on their way, fails the rest, ends the streams, then closes
   * the backend. Idempotent.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Makes a dispatcher; see {@link DispatcherOptions} for what it takes.
 *
 * @throws DispatcherError `ERR_DISPATCHER_ARGUMENT` for an option of the wrong kind
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  return new DispatcherCore(settingsFrom(options));
}

class DispatcherCore implements Dispatcher, ModeContext {
  readonly settings: DispatcherSettings;
  readonly wheel: DeadlineWheel;
  readonly sessions: SessionTable;
  readonly drops: Drops;
  readonly flow: FlowGuard;
  readonly #mode: Mode;
  #stopReaper: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: DispatcherSettings) {
    this.settings = settings;
    const { clock } = settings;
    this.wheel = new DeadlineWheel(clock);
    this.drops = new Drops(clock, settings.onDropped);
    this.sessions = new SessionTable({
      clock,
      ttlMs: settings.sessionTtlMs,
      // A process for one client alone must not live on because a socket was left open.
      streamKeepsAlive: settings.isolation !== 'session',
      onEnd: (session) => this.#ended(session),
    });
    this.flow = new FlowGuard({
      clock,
      maxSinkBytes: settings.maxSinkBytes,
      stallMs: settings.sinkStallMs,
      pauseAboveBytes: settings.pauseAboveBytes,
      setPaused: (paused) => this.#mode.setPaused(paused),
    });
    this.#mode = createMode(settings, this);
    this.#reapLater();
  }

  get isolation(): 'shared' | 'session' | 'principal' {
    return this.settings.isolation;
  }

  async start(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#assertOpen();
    await this.#mode.start(options.signal);
  }

  async ready(): Promise<void> {
    this.#assertOpen();
    const failure = await this.#mode.ready();
    if (failure === undefined) return;
    throw new DispatcherError('ERR_DISPATCHER_HANDSHAKE', `The MCP server is not ready: ${failure.message}`, {
      details: { ...failure, stderrTail: this.#mode.stderrTail },
    });
  }

  async agreement(origin?: Origin): Promise<ServerAgreement | Failure> {
    if (this.#closing !== undefined) return SHUTDOWN;
    return (await this.#mode.agreement?.(origin)) ?? SESSION_REQUIRED;
  }

  async listen(filter: ListenFilter, listener: Listener, origin?: Origin): Promise<Listening | Failure> {
    if (this.#closing !== undefined) return SHUTDOWN;
    return (await this.#mode.listen?.(filter, listener, origin)) ?? SESSION_REQUIRED;
  }

  session(id: string, principal?: Principal): ClientSession | undefined {
    return this.sessions.get(id, principal);
  }

  refusal(): Failure | undefined {
    return this.#closing === undefined ? this.#mode.refusal() : SHUTDOWN;
  }

  request(message: Message, reply: Reply, origin: Origin): void {
    if (this.#closing !== undefined) reply.settle({ kind: 'failure', failure: SHUTDOWN });
    else if (message.method === 'initialize') this.#mode.initialize(message, reply, origin);
    else this.#mode.request(message, this.#resumable(message, reply, origin.session), origin);
  }

  notify(message: Message, origin: Origin): Taken {
    return this.#mode.notify(message, origin.session);
  }

  respond(message: Message, origin: Origin): Taken {
    return this.#mode.respond(message, origin.session);
  }

  openStream(
    session: ClientSession,
    sink: StreamSink,
    options: { readonly lastEventId?: string | undefined } = {},
  ): void {
    const opened = openStandalone(session, sink, options.lastEventId, {
      log: this.#logOf(session),
      createStream: () => this.#createStream(sink),
    });
    if (opened) this.#mode.streamOpened(session);
  }

  endSession(session: ClientSession): void {
    this.sessions.end(session);
  }

  deliver(
    session: ClientSession,
    message: Message,
    options: { readonly key?: string; readonly keep?: boolean } = {},
  ): boolean {
    const { stream } = session;
    const kept = session.log?.standalone;
    const eventId = kept === undefined ? undefined : `${kept.id}.${kept.keep(message)}`;
    if (stream?.open === true) {
      stream.send(message, eventId === undefined ? options : { ...options, eventId });
      return true;
    }
    return kept !== undefined;
  }

  stats(): DispatcherStats {
    let streams = 0;
    for (const session of this.sessions) if (session.stream?.open === true) streams++;
    return {
      sessions: this.sessions.size,
      streams,
      ...this.#mode.counts(),
      lagging: this.flow.size,
      drops: this.drops.counts(),
    };
  }

  close(options: { readonly drainMs?: number } = {}): Promise<void> {
    return (this.#closing ??= this.#close(options.drainMs ?? 0));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drainMs: number): Promise<void> {
    this.#stopReaper?.();
    if (drainMs > 0) await this.#drained(drainMs);
    const closed = this.#mode.close();
    this.sessions.endAll();
    await closed;
    this.wheel.close();
    this.flow.close();
  }

  /** Looks again and again: what ends the waiting comes from many places. */
  async #drained(drainMs: number): Promise<void> {
    const { clock } = this.settings;
    const until = clock.now() + drainMs;
    while (this.#mode.counts().inFlight > 0 && clock.now() < until) {
      await new Promise<void>((resolve) => void clock.setTimer(DRAIN_CHECK_MS, resolve));
    }
  }

  #assertOpen(): void {
    if (this.#closing === undefined) return;
    throw new DispatcherError('ERR_DISPATCHER_CLOSED', 'The dispatcher is closed: create another one');
  }

  #reapLater(): void {
    const { clock, sessionTtlMs } = this.settings;
    this.#stopReaper = clock.setTimer(Math.max(1, Math.floor(sessionTtlMs / 2)), () => {
      this.sessions.reap();
      this.#reapLater();
    });
  }

  #createStream(sink: StreamSink): ServerStream {
    const { clock, keepAliveMs, streamQueueSize } = this.settings;
    return new ServerStream(sink, {
      now: clock.now(),
      wheel: this.wheel,
      keepAliveMs,
      maxQueued: streamQueueSize,
      counters: { dropped: (message) => this.drops.add('stream-full', message) },
    });
  }

  /** Older clients stumble over events without data, so only 2025-11-25 gets resumable streams. */
  #logOf(session: ClientSession): EventLog | undefined {
    const { resumability, clock, randomId } = this.settings;
    if (resumability === undefined || session.protocolVersion < '2025-11-25') return undefined;
    return (session.log ??= new EventLog({ settings: resumability, clock, wheel: this.wheel, randomId }));
  }

  #resumable(message: Message, reply: Reply, session: ClientSession | undefined): Reply {
    if (session === undefined || !reply.streams || this.settings.resumability === undefined) return reply;
    const log = this.#logOf(session);
    return log === undefined ? reply : new ResumableReply(reply, log, message.idText ?? '0');
  }

  #ended(session: ClientSession): void {
    this.#mode.sessionEnded(session);
    session.stream?.end();
    session.stream = undefined;
    session.log?.close();
    session.log = undefined;
  }
}

function createMode(settings: DispatcherSettings, context: ModeContext): Mode {
  if (settings.isolation === 'session' && settings.connect !== undefined)
    return new SessionMode(context, settings.connect);
  if (settings.isolation === 'principal' && settings.connect !== undefined)
    return new PrincipalMode(context, settings.connect);
  if (settings.connection !== undefined) return new SharedMode(context, settings.connection);
  throw new DispatcherError('ERR_DISPATCHER_ARGUMENT', 'Expected `connection` or `connect` to be given');
}
