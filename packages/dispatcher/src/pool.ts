import { MODERN_VERSION, buildResult, editMembers } from '@thv/transport';
import type { Connection, Message } from '@thv/transport';
import { cancelledKey } from './cancel.js';
import { agreementFrom } from './handshake.js';
import { createLane } from './lanes.js';
import type { Mode, ModeContext, Origin, Taken } from './mode.js';
import { SESSION_ENDED, SESSION_REQUIRED, SHUTDOWN, startFailure, tooManySessions } from './outcome.js';
import type { Failure, Outcome, Reply } from './outcome.js';
import { LATEST_LEGACY_VERSION } from './revision.js';
import { Semaphore } from './semaphore.js';
import { ServerRequests } from './server-requests.js';
import { principalKey } from '@thv/transport';
import { ClientSession, paramsOf } from './sessions.js';
import { Upstream } from './upstream.js';

/** The process of one session. */
interface SessionBackend {
  readonly upstream: Upstream;
  readonly serverRequests: ServerRequests;
  /** What it answered to `initialize`, for a client that asks again. */
  result: unknown;
  session: ClientSession | undefined;
}

/** A backend for each session: what the server asks of its user reaches that user. */
export class SessionMode implements Mode {
  readonly #context: ModeContext;
  readonly #connect: NonNullable<ModeContext['settings']['connect']>;
  readonly #starts: Semaphore;
  readonly #backends = new Set<SessionBackend>();
  readonly stderrTail: readonly string[] = [];
  /** Sessions on their way, by principal. */
  readonly #pending: (string | undefined)[] = [];
  #closed = false;

  constructor(context: ModeContext, connect: NonNullable<ModeContext['settings']['connect']>) {
    this.#context = context;
    this.#connect = connect;
    this.#starts = new Semaphore(context.settings.maxConcurrentStarts);
  }

  async start(): Promise<void> {
    // The first process starts with the first session.
  }

  async ready(): Promise<Failure | undefined> {
    return this.refusal();
  }

  initialize(message: Message, reply: Reply, origin: Origin): void {
    const known = this.#backendOf(origin.session);
    if (known !== undefined) {
      reply.settle({ kind: 'answer', message: buildResult(message.idText ?? '0', known.result) });
      return;
    }
    const key = principalKey(origin.principal);
    const refusal = this.#refusalFor(key);
    if (refusal === undefined) void this.#open(message, reply, origin, key);
    else reply.settle({ kind: 'failure', failure: refusal });
  }

  request(message: Message, reply: Reply, { session }: Origin): void {
    const backend = this.#backendOf(session);
    if (session === undefined || backend === undefined) {
      reply.settle({ kind: 'failure', failure: SESSION_REQUIRED });
      return;
    }
    const waiter = backend.upstream.admit(session, message, reply);
    if (waiter !== undefined) backend.upstream.dispatch(waiter);
  }

  notify(message: Message, session: ClientSession | undefined): Taken {
    const backend = this.#backendOf(session);
    if (session === undefined || backend === undefined) return 'taken';
    if (message.method === 'notifications/cancelled') {
      const key = cancelledKey(message);
      const waiter = key === undefined ? undefined : session.inFlight?.get(key);
      if (waiter !== undefined) backend.upstream.cancel(waiter, paramsOf(message));
      return 'taken';
    }
    if (message.method === 'notifications/initialized') {
      if (session.initialized) return 'taken';
      session.initialized = true;
    }
    return backend.upstream.notify(session, message) ? 'taken' : 'busy';
  }

  respond(message: Message, session: ClientSession | undefined): Taken {
    const backend = this.#backendOf(session);
    if (session === undefined || backend === undefined) return 'unknown-id';
    return backend.serverRequests.respond(message, session);
  }

  sessionEnded(session: ClientSession): void {
    const backend = this.#backendOf(session);
    if (backend !== undefined) void this.#dispose(backend, SESSION_ENDED);
  }

  streamOpened(session: ClientSession): void {
    this.#backendOf(session)?.serverRequests.streamOpened(session);
  }

  refusal(): Failure | undefined {
    return this.#closed ? SHUTDOWN : undefined;
  }

  setPaused(paused: boolean): void {
    for (const { upstream } of this.#backends) {
      if (paused) upstream.connection.pause();
      else upstream.connection.resume();
    }
  }

  counts() {
    let inFlight = 0;
    let queued = 0;
    for (const { upstream } of this.#backends) {
      inFlight += upstream.inFlight;
      queued += upstream.queued;
    }
    return { inFlight, queued, restarts: 0, backends: this.#backends.size };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#backends].map((backend) => this.#dispose(backend)));
  }

  #backendOf(session: ClientSession | undefined): SessionBackend | undefined {
    return session?.backend as SessionBackend | undefined;
  }

  #refusalFor(key: string | undefined): Failure | undefined {
    const { settings, sessions } = this.#context;
    if (this.#closed) return SHUTDOWN;
    const full = sessions.size + this.#pending.length >= settings.maxSessions;
    const mine = () => sessions.countOf(key) + this.#pending.filter((other) => other === key).length;
    return full || (key !== undefined && mine() >= settings.maxSessionsPerPrincipal)
      ? tooManySessions(settings.sessionRetryAfterMs)
      : undefined;
  }

  async #open(message: Message, reply: Reply, origin: Origin, key: string | undefined): Promise<void> {
    this.#pending.push(key);
    const id = this.#context.settings.randomId();
    let outcome: Outcome;
    try {
      const started = await this.#started(id, origin);
      outcome =
        'failure' in started
          ? { kind: 'failure', failure: started.failure }
          : await this.#agree(started, message, reply, id, key);
    } finally {
      this.#pending.splice(this.#pending.indexOf(key), 1);
    }
    reply.settle(outcome);
  }

  /** Starts a process, not too many at a time. */
  async #started(sessionId: string, origin: Origin): Promise<SessionBackend | { readonly failure: Failure }> {
    const release = await this.#starts.acquire();
    try {
      if (this.#closed) return { failure: SHUTDOWN };
      const connection = await this.#connect({ sessionId, principal: origin.principal });
      const backend = this.#createBackend(connection);
      this.#backends.add(backend);
      try {
        await backend.upstream.start();
        return backend;
      } catch (error) {
        void this.#dispose(backend);
        return { failure: startFailure(error) };
      }
    } catch (error) {
      return { failure: startFailure(error) };
    } finally {
      release();
    }
  }

  /** Hands the client's own `initialize` over; the session exists only if the process agrees. */
  async #agree(
    backend: SessionBackend,
    message: Message,
    reply: Reply,
    id: string,
    key: string | undefined,
  ): Promise<Outcome> {
    const { sessions, settings } = this.#context;
    const outcome = await new Promise<Outcome>((resolve) => {
      const waiter = backend.upstream.admit(createLane(), withLegacyVersion(message), quiet(reply, resolve));
      if (waiter !== undefined) backend.upstream.dispatch(waiter);
    });
    const result = agreementFrom(outcome);
    if (!result.ok || this.#closed) {
      void this.#dispose(backend);
      return result.ok ? { kind: 'failure', failure: SHUTDOWN } : result.outcome;
    }
    const capabilities = paramsOf(message)['capabilities'];
    const session = new ClientSession({
      id,
      protocolVersion: result.agreement.protocolVersion,
      capabilities: typeof capabilities === 'object' && capabilities !== null ? { ...capabilities } : {},
      principalKey: key,
      now: settings.clock.now(),
    });
    backend.session = session;
    backend.result = result.agreement.message.json()['result'];
    session.backend = backend;
    sessions.add(session);
    return { kind: 'answer', message: result.agreement.message, session };
  }

  #createBackend(connection: Connection): SessionBackend {
    const { settings, wheel, drops, sessions } = this.#context;
    const upstream: Upstream = new Upstream(connection, settings, wheel, {
      onMessage: (message, waiter) => this.#receive(backend, message, waiter),
      onUp: () => undefined,
      onDown: () => {
        backend.serverRequests.backendDown();
        if (backend.session === undefined) void this.#dispose(backend);
        else sessions.end(backend.session);
      },
      onDrop: (reason, message) => drops.add(reason, message),
      onNoise: (text) => settings.onWarning?.(text),
    });
    const backend: SessionBackend = {
      upstream,
      serverRequests: new ServerRequests(upstream, this.#context),
      result: undefined,
      session: undefined,
    };
    return backend;
  }

  #receive(backend: SessionBackend, message: Message, waiter: Parameters<ServerRequests['forward']>[2]): void {
    const { session } = backend;
    if (message.kind === 'request' && message.method === 'ping') {
      backend.upstream.write(buildResult(message.idText ?? '0', {}));
    } else if (session === undefined) {
      this.#receiveEarly(backend, message);
    } else if (message.kind === 'request') {
      backend.serverRequests.forward(message, session, waiter);
    } else {
      backend.serverRequests.notify(message, session, waiter);
    }
  }

  /** Before the client has its session there is nobody to ask. */
  #receiveEarly(backend: SessionBackend, message: Message): void {
    if (message.kind === 'request') backend.serverRequests.refuseEarly(message);
    else this.#context.drops.add('no-stream', message);
  }

  async #dispose(backend: SessionBackend, failure: Failure = SHUTDOWN): Promise<void> {
    if (!this.#backends.delete(backend)) return;
    backend.serverRequests.close();
    await backend.upstream.close(failure);
  }
}

/** There is no handshake for 2026-07-28: a process that repeats whatever it is asked must not agree on it. */
function withLegacyVersion(initialize: Message): Message {
  if (paramsOf(initialize)['protocolVersion'] !== MODERN_VERSION) return initialize;
  return editMembers(initialize, {
    path: ['params'],
    set: { protocolVersion: JSON.stringify(LATEST_LEGACY_VERSION) },
  });
}

/** A reply that lets the answer of `initialize` be looked at before the client gets it. */
function quiet(reply: Reply, resolve: (outcome: Outcome) => void): Reply {
  return {
    streams: false,
    open: true,
    bufferedBytes: 0,
    send: () => true,
    keepAlive: () => reply.keepAlive(),
    settle: resolve,
  };
}
