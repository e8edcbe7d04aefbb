import type { Connection, Message, Principal } from '@thv/transport';
import type { BackendRequest } from './options.js';
import type { ListenFilter, Listener, Listening } from './listeners.js';
import type { Mode, ModeContext, Origin, ServerAgreement, Sessions, Taken } from './mode.js';
import { SHUTDOWN, startFailure, tooManySessions } from './outcome.js';
import type { Failure, Reply } from './outcome.js';
import { principalKey } from '@thv/transport';
import type { ClientSession } from './sessions.js';
import { SharedMode } from './shared.js';

/** The backend of one caller, with the sessions of that caller. */
interface Personal {
  readonly mode: SharedMode;
  readonly sessions: PersonalSessions;
  /** When it was last used by a request without a session. */
  lastUsed: number;
}

/** How long a backend without sessions and requests is kept. */
const IDLE_MS = 300_000;

/**
 * One backend for each caller, shared by the caller's sessions. What the backend says reaches that caller alone. It may
 * ask while exactly one session is open and no request without a session is on its way, since then there is no doubt
 * whom.
 */
export class PrincipalMode implements Mode {
  readonly stderrTail: readonly string[] = [];
  readonly #context: ModeContext;
  readonly #connect: (request: BackendRequest) => Connection | Promise<Connection>;
  readonly #backends = new Map<string | undefined, Promise<Personal>>();
  readonly #opened = new Map<string | undefined, Personal>();
  #stopSweep: (() => void) | undefined;
  #closed = false;

  constructor(context: ModeContext, connect: (request: BackendRequest) => Connection | Promise<Connection>) {
    this.#context = context;
    this.#connect = connect;
  }

  async start(): Promise<void> {
    // The first backend starts with the first caller.
  }

  async ready(): Promise<Failure | undefined> {
    return this.refusal();
  }

  async agreement(origin?: Origin): Promise<ServerAgreement | Failure> {
    const personal = await this.#of(origin?.principal);
    return 'reason' in personal ? personal : personal.mode.agreement();
  }

  async listen(filter: ListenFilter, listener: Listener, origin?: Origin): Promise<Listening | Failure> {
    const personal = await this.#of(origin?.principal);
    return 'reason' in personal ? personal : personal.mode.listen(filter, listener);
  }

  initialize(message: Message, reply: Reply, origin: Origin): void {
    this.#with(origin.principal, reply, ({ mode }) => mode.initialize(message, reply, origin));
  }

  request(message: Message, reply: Reply, origin: Origin): void {
    this.#with(origin.principal, reply, ({ mode }) => mode.request(message, reply, origin));
  }

  notify(message: Message, session: ClientSession | undefined): Taken {
    return this.#ofSession(session)?.mode.notify(message, session) ?? 'taken';
  }

  respond(message: Message, session: ClientSession | undefined): Taken {
    return this.#ofSession(session)?.mode.respond(message, session) ?? 'taken';
  }

  sessionEnded(session: ClientSession): void {
    const personal = this.#ofSession(session);
    if (personal === undefined) return;
    personal.sessions.forget(session);
    personal.lastUsed = this.#context.settings.clock.now();
    personal.mode.sessionEnded(session);
  }

  streamOpened(session: ClientSession): void {
    this.#ofSession(session)?.mode.streamOpened(session);
  }

  refusal(): Failure | undefined {
    return this.#closed ? SHUTDOWN : undefined;
  }

  setPaused(paused: boolean): void {
    for (const { mode } of this.#opened.values()) mode.setPaused(paused);
  }

  counts() {
    const sum = { inFlight: 0, queued: 0, restarts: 0, backends: 0 };
    for (const { mode } of this.#opened.values()) {
      const counts = mode.counts();
      sum.inFlight += counts.inFlight;
      sum.queued += counts.queued;
      sum.restarts += counts.restarts;
      sum.backends += counts.backends;
    }
    return sum;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopSweep?.();
    await Promise.allSettled([...this.#backends.values()].map(async (backend) => (await backend).mode.close()));
  }

  /** At once where the backend is there, so that messages keep their order. */
  #with(principal: Principal | undefined, reply: Reply, use: (personal: Personal) => void): void {
    const known = this.#opened.get(principalKey(principal));
    if (known !== undefined) {
      known.lastUsed = this.#context.settings.clock.now();
      use(known);
      return;
    }
    void this.#of(principal).then((personal) => {
      if ('reason' in personal) reply.settle({ kind: 'failure', failure: personal });
      else use(personal);
    });
  }

  #ofSession(session: ClientSession | undefined): Personal | undefined {
    return session === undefined ? undefined : this.#opened.get(session.principalKey);
  }

  async #of(principal: Principal | undefined): Promise<Personal | Failure> {
    const { settings } = this.#context;
    if (this.#closed) return SHUTDOWN;
    const key = principalKey(principal);
    let backend = this.#backends.get(key);
    if (backend === undefined) {
      if (this.#backends.size >= settings.maxBackends) return tooManySessions(settings.sessionRetryAfterMs);
      backend = this.#open(key, principal);
      this.#backends.set(key, backend);
    }
    try {
      const personal = await backend;
      personal.lastUsed = settings.clock.now();
      return personal;
    } catch (error) {
      this.#backends.delete(key);
      return startFailure(error);
    }
  }

  async #open(key: string | undefined, principal: Principal | undefined): Promise<Personal> {
    const connection = await this.#connect({ sessionId: '', principal });
    const sessions = new PersonalSessions(this.#context.sessions);
    const mode = new SharedMode({ ...this.#surroundings(), sessions }, connection, { isPersonal: true });
    const personal = { mode, sessions, lastUsed: this.#context.settings.clock.now() };
    this.#opened.set(key, personal);
    this.#sweepLater();
    return personal;
  }

  #surroundings(): Omit<ModeContext, 'sessions'> {
    const context = this.#context;
    return {
      settings: context.settings,
      wheel: context.wheel,
      drops: context.drops,
      deliver: (session, message, options) => context.deliver(session, message, options),
    };
  }

  #sweepLater(): void {
    const { clock } = this.#context.settings;
    this.#stopSweep ??= clock.setTimer(IDLE_MS, () => {
      this.#stopSweep = undefined;
      for (const [key, { mode, sessions, lastUsed }] of this.#opened) {
        const isBusy = !sessions.isEmpty || mode.counts().inFlight > 0 || mode.listening > 0;
        if (isBusy || clock.now() - lastUsed < IDLE_MS) continue;
        this.#opened.delete(key);
        this.#backends.delete(key);
        void mode.close();
      }
      if (this.#opened.size > 0) this.#sweepLater();
    });
  }
}

/** The sessions of one caller among all. */
class PersonalSessions implements Sessions {
  readonly #all: Sessions;
  readonly #mine = new Set<ClientSession>();

  constructor(all: Sessions) {
    this.#all = all;
  }

  /** The limit is for all callers together. */
  get size(): number {
    return this.#all.size;
  }

  get isEmpty(): boolean {
    return this.#mine.size === 0;
  }

  countOf(key: string | undefined): number {
    return this.#all.countOf(key);
  }

  add(session: ClientSession): void {
    this.#mine.add(session);
    this.#all.add(session);
  }

  end(session: ClientSession): void {
    this.#all.end(session);
  }

  endAll(): void {
    for (const session of this.#mine) this.#all.end(session);
  }

  forget(session: ClientSession): void {
    this.#mine.delete(session);
  }

  [Symbol.iterator](): Iterator<ClientSession> {
    return this.#mine.values();
  }
}
