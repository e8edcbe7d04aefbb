import { buildError, buildNotification, buildResult } from '@thv/transport';
import { cancelledKey } from './cancel.js';
import { INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND } from './codes.js';
import { Handshake } from './handshake.js';
import type { Agreement, HandshakeResult } from './handshake.js';
import { createLane } from './lanes.js';
import { LogLevelReconciler, rankOf, setLevelRequest } from './log-level.js';
import { Listeners } from './listeners.js';
import type { ListenFilter, Listener, Listening } from './listeners.js';
import type { Mode, ModeContext, Origin, ServerAgreement, Taken } from './mode.js';
import { startFailure, tooManySessions, unavailable } from './outcome.js';
import type { Failure, Outcome, Reply } from './outcome.js';
import { ServerRequests } from './server-requests.js';
import { principalKey } from '@thv/transport';
import { ClientSession, paramsOf } from './sessions.js';
import { LIST_CHANGED, SharedNews } from './shared-news.js';
import { Subscriptions } from './subscriptions.js';
import { objectIn, stringIn } from './revision.js';
import { Upstream } from './upstream.js';
import type { Waiter } from './waiters.js';
import type { Connection, Message } from '@thv/transport';

/** One backend for all clients. Nothing is ever guessed: what cannot be attributed reaches nobody. */
export class SharedMode implements Mode {
  readonly #context: ModeContext;
  readonly #upstream: Upstream;
  readonly #handshake: Handshake;
  readonly #subscriptions: Subscriptions;
  readonly #logLevel: LogLevelReconciler;
  readonly #serverRequests: ServerRequests;
  readonly #lane = createLane();
  /** All sessions are those of one caller. */
  readonly #isPersonal: boolean;
  readonly #listeners: Listeners;
  readonly #news: SharedNews;
  #starting: Promise<void> | undefined;
  #restarts = -1;
  /** What the sessions of the backend's earlier life agreed on. */
  #version: string | undefined;

  constructor(context: ModeContext, connection: Connection, { isPersonal = false } = {}) {
    this.#isPersonal = isPersonal;
    this.#context = context;
    const { settings, wheel, drops } = context;
    this.#upstream = new Upstream(connection, settings, wheel, {
      onMessage: (message, waiter) => this.#receive(message, waiter),
      onUp: () => this.#up(),
      onDown: (_down, failure) => this.#down(failure),
      onDrop: (reason, message) => drops.add(reason, message),
      onNoise: (text) => settings.onWarning?.(text),
    });
    // Whose server it is decides what it may ask.
    const handshake = isPersonal ? ('first-client' as const) : settings.handshake;
    this.#handshake = new Handshake(this.#upstream, { ...settings, handshake });
    this.#subscriptions = new Subscriptions(this.#upstream, settings.dedupeSubscriptions);
    this.#listeners = new Listeners(this.#subscriptions);
    this.#news = new SharedNews(context, this.#subscriptions, this.#listeners, isPersonal);
    this.#logLevel = new LogLevelReconciler(
      () => context.sessions,
      (level) => this.#upstream.call(setLevelRequest(level)),
    );
    this.#serverRequests = new ServerRequests(this.#upstream, context);
  }

  get stderrTail(): readonly string[] {
    return this.#upstream.stderrTail;
  }

  start(signal?: AbortSignal): Promise<void> {
    return (this.#starting ??= this.#upstream.start(signal));
  }

  async ready(): Promise<Failure | undefined> {
    const result = await this.#handshaken();
    if (result.ok) return undefined;
    if (result.outcome.kind === 'failure') return result.outcome.failure;
    return {
      reason: 'handshake',
      status: 502,
      code: INTERNAL_ERROR,
      message: 'The MCP server refused initialize',
      data: { answer: result.outcome.kind === 'answer' ? result.outcome.message.json() : null },
    };
  }

  async agreement(): Promise<ServerAgreement | Failure> {
    const failure = await this.ready();
    if (failure !== undefined) return failure;
    const { agreement } = this.#handshake;
    return agreement === undefined ? unavailable(0) : serverAgreement(agreement);
  }

  async listen(filter: ListenFilter, listener: Listener): Promise<Listening | Failure> {
    const agreement = await this.agreement();
    return 'reason' in agreement ? agreement : this.#listeners.open(filter, listener, agreement.capabilities);
  }

  initialize(message: Message, reply: Reply, origin: Origin): void {
    const { agreement } = this.#handshake;
    if (agreement !== undefined) {
      this.#answerInitialize(message, reply, origin, agreement);
      return;
    }
    const failure = this.#upstream.refusal();
    if (failure !== undefined) {
      reply.settle({ kind: 'failure', failure });
      return;
    }
    void this.#handshaken(message).then((result) => {
      if (result.ok) this.#answerInitialize(message, reply, origin, result.agreement);
      else reply.settle(underId(result.outcome, message));
    });
  }

  request(message: Message, reply: Reply, { session, cancelWhenGone = false }: Origin): void {
    const waiter = this.#upstream.admit(session ?? createLane(), message, reply, this.#hooksFor(message, session));
    if (waiter === undefined) return;
    if (cancelWhenGone) reply.onGone = () => this.#upstream.cancel(waiter, { reason: 'The client is gone' });
    if (this.#handshake.agreement !== undefined) this.#route(waiter, session);
    else if (this.#upstream.refusal() === undefined) void this.#afterHandshake(waiter, session);
    else this.#upstream.dispatch(waiter);
  }

  notify(message: Message, session: ClientSession | undefined): Taken {
    switch (message.method) {
      case 'notifications/cancelled':
        this.#cancel(message, session);
        return 'taken';
      case 'notifications/initialized':
      case 'notifications/roots/list_changed':
        return 'taken';
      default:
        return this.#upstream.notify(session ?? this.#lane, message) ? 'taken' : 'busy';
    }
  }

  respond(message: Message, session: ClientSession | undefined): Taken {
    if (session !== undefined && this.#serverRequests.respond(message, session) === 'taken') return 'taken';
    this.#context.drops.add('client-response', message);
    return 'taken';
  }

  sessionEnded(session: ClientSession): void {
    this.#subscriptions.purge(session);
    this.#serverRequests.sessionEnded(session);
  }

  streamOpened(session: ClientSession): void {
    // Of a server for many nothing waits for a stream: what had no receiver was dropped.
    if (this.#isPersonal) this.#serverRequests.streamOpened(session);
  }

  refusal(): Failure | undefined {
    return this.#upstream.refusal();
  }

  setPaused(paused: boolean): void {
    if (paused) this.#upstream.connection.pause();
    else this.#upstream.connection.resume();
  }

  /** Clients without a session that listen. */
  get listening(): number {
    return this.#listeners.size;
  }

  counts() {
    return {
      inFlight: this.#upstream.inFlight,
      queued: this.#upstream.queued,
      restarts: Math.max(0, this.#restarts),
      backends: this.#upstream.isUp ? 1 : 0,
    };
  }

  async close(): Promise<void> {
    this.#listeners.close();
    this.#serverRequests.close();
    await this.#upstream.close();
  }

  /** Why the backend did not start; a restart of it may have worked meanwhile. */
  async #startProblem(): Promise<Failure | undefined> {
    try {
      await this.start();
    } catch (error) {
      if (this.#upstream.connection.state === 'up') return undefined;
      const refusal = this.#upstream.refusal();
      return refusal?.retryAfterMs === undefined ? startFailure(error) : refusal;
    }
    return undefined;
  }

  async #handshaken(initialize?: Message): Promise<HandshakeResult> {
    const failure = await this.#startProblem();
    if (failure !== undefined) return { ok: false, outcome: { kind: 'failure', failure } };
    return this.#handshake.run(initialize);
  }

  async #afterHandshake(waiter: Waiter, session: ClientSession | undefined): Promise<void> {
    const result = await this.#handshaken();
    if (waiter.done) return;
    if (result.ok) this.#route(waiter, session);
    else this.#upstream.settle(waiter, underId(result.outcome, waiter.message));
  }

  #answerInitialize(message: Message, reply: Reply, origin: Origin, agreement: Agreement): void {
    const { settings, sessions } = this.#context;
    const answer = this.#handshake.answerFor(message, agreement);
    if (origin.session !== undefined) {
      reply.settle({ kind: 'answer', message: answer.message });
      return;
    }
    const key = principalKey(origin.principal);
    if (sessions.size >= settings.maxSessions) {
      reply.settle({ kind: 'failure', failure: tooManySessions(settings.sessionRetryAfterMs) });
      return;
    }
    const capabilities = paramsOf(message)['capabilities'];
    const session = new ClientSession({
      id: settings.randomId(),
      protocolVersion: answer.protocolVersion,
      capabilities: typeof capabilities === 'object' && capabilities !== null ? { ...capabilities } : {},
      principalKey: key,
      now: settings.clock.now(),
    });
    sessions.add(session);
    reply.settle({ kind: 'answer', message: answer.message, session });
  }

  #hooksFor(message: Message, session: ClientSession | undefined) {
    if (session === undefined || message.method !== 'resources/subscribe') return undefined;
    const uri = stringIn(paramsOf(message), 'uri');
    if (uri === undefined || uri === '') return undefined;
    return {
      onLate: (response: Message): void => {
        if (!response.isError) this.#subscriptions.lateSuccess(uri);
      },
    };
  }

  #route(waiter: Waiter, session: ClientSession | undefined): void {
    if (session !== undefined) {
      switch (waiter.message.method) {
        case 'resources/subscribe':
        case 'resources/unsubscribe':
          if (this.#routeSubscription(waiter, session)) return;
          break;
        case 'logging/setLevel':
          this.#setLevel(waiter, session);
          return;
        default:
      }
    }
    this.#upstream.dispatch(waiter);
  }

  #routeSubscription(waiter: Waiter, session: ClientSession): boolean {
    const uri = stringIn(paramsOf(waiter.message), 'uri');
    if (uri === undefined || uri === '') return false;
    if (waiter.message.method === 'resources/subscribe') void this.#subscriptions.subscribe(waiter, uri, session);
    else void this.#subscriptions.unsubscribe(waiter, uri, session);
    return true;
  }

  #setLevel(waiter: Waiter, session: ClientSession): void {
    const idText = waiter.message.idText ?? '0';
    const level = paramsOf(waiter.message)['level'];
    const rank = rankOf(level);
    const answer = (message: Message) => this.#upstream.settle(waiter, { kind: 'answer', message });
    if (!Object.hasOwn(this.#handshake.agreement?.capabilities ?? {}, 'logging')) {
      answer(buildError(idText, { code: METHOD_NOT_FOUND, message: 'The MCP server does not support logging' }));
    } else if (rank === undefined) {
      answer(buildError(idText, { code: INVALID_PARAMS, message: `Unknown log level: ${JSON.stringify(level)}` }));
    } else {
      session.logRank = rank;
      answer(buildResult(idText, {}));
      this.#logLevel.reconcile();
    }
  }

  #cancel(message: Message, session: ClientSession | undefined): void {
    const key = cancelledKey(message);
    const waiter = key === undefined ? undefined : session?.inFlight?.get(key);
    if (waiter !== undefined) this.#upstream.cancel(waiter, paramsOf(message));
  }

  #receive(message: Message, waiter: Waiter | undefined): void {
    if (message.kind === 'request') this.#receiveRequest(message, waiter);
    else this.#news.receive(message, waiter);
  }

  /** Only a backend that says for whom it asks can ask a client here. */
  #receiveRequest(message: Message, waiter: Waiter | undefined): void {
    const idText = message.idText ?? '0';
    if (message.method === 'ping') {
      this.#upstream.write(buildResult(idText, {}));
    } else if (waiter?.lane instanceof ClientSession) {
      this.#serverRequests.forward(message, waiter.lane, waiter);
    } else if (this.#onlySession !== undefined) {
      this.#serverRequests.forward(message, this.#onlySession);
    } else {
      const text = `server-initiated ${message.method} is not supported by the shared streamable proxy; requires a per-session backend deployment`;
      this.#upstream.write(buildError(idText, { code: METHOD_NOT_FOUND, message: text }));
    }
  }

  /** The session that can be meant, where there is exactly one and no request of anybody else is on its way. */
  get #onlySession(): ClientSession | undefined {
    if (!this.#isPersonal) return undefined;
    const [only, ...others] = this.#context.sessions;
    return only !== undefined && others.length === 0 && this.#upstream.servesOnly(only) ? only : undefined;
  }

  #up(): void {
    this.#restarts++;
    if (this.#handshake.wasMade) void this.#replay();
  }

  #down(failure: Failure): void {
    this.#version = this.#handshake.agreement?.protocolVersion ?? this.#version;
    this.#handshake.reset(failure);
    this.#logLevel.reset();
    this.#serverRequests.backendDown();
  }

  /** A new process knows nothing: the handshake again, then what the sessions had asked for. */
  async #replay(): Promise<void> {
    const result = await this.#handshake.run();
    if (!result.ok) {
      if (result.outcome.kind === 'failure' && result.outcome.failure.reason === 'backend-exited') return;
      this.#context.sessions.endAll();
      return;
    }
    if (this.#version !== undefined && result.agreement.protocolVersion !== this.#version) {
      this.#context.sessions.endAll();
    }
    this.#logLevel.reconcile();
    await this.#subscriptions.restore();
    for (const [method, capability] of LIST_CHANGED) {
      if (!advertises(result.agreement, capability)) continue;
      this.#news.listChanged(method, buildNotification(method));
    }
  }
}

function serverAgreement({ message, protocolVersion, capabilities }: Agreement): ServerAgreement {
  const result = objectIn(message.json(), 'result');
  return {
    protocolVersion,
    capabilities,
    serverInfo: result === undefined ? undefined : objectIn(result, 'serverInfo'),
    instructions: stringIn(result, 'instructions'),
  };
}

function advertises(agreement: Agreement, capability: string): boolean {
  const entry = Object.hasOwn(agreement.capabilities, capability) ? agreement.capabilities[capability] : undefined;
  return typeof entry === 'object' && entry !== null && (entry as { listChanged?: unknown }).listChanged === true;
}

/** An outcome of the shared handshake under the id of one of the clients that wait for it. */
function underId(outcome: Outcome, message: Message): Outcome {
  if (outcome.kind !== 'answer') return outcome;
  const error = outcome.message.json()['error'] as { code: number; message: string; data?: unknown };
  return { kind: 'answer', message: buildError(message.idText ?? '0', error) };
}
