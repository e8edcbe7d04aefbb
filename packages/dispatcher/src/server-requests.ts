import { buildError, buildNotification, idKey } from '@thv/transport';
import type { Message } from '@thv/transport';
import { cancelledKey } from './cancel.js';
import { clientAllows } from './capabilities.js';
import { INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND } from './codes.js';
import type { Deadline } from './deadlines.js';
import type { ModeContext, Taken } from './mode.js';
import type { ClientSession } from './sessions.js';
import type { Upstream } from './upstream.js';
import type { Waiter } from './waiters.js';

/** Ids of given-up requests that are remembered, to tell a late answer from an invented one. */
const MAX_EXPIRED = 256;
const MAX_OUTSTANDING = 64;

/** A request of the server that its client has not answered yet. */
interface Outstanding extends Deadline {
  readonly key: string;
  readonly idText: string;
  readonly session: ClientSession;
  /** The request of the client on whose stream it went; `undefined` for the standalone stream. */
  readonly carrier: Waiter | undefined;
  /** The requests whose clocks stand still meanwhile. */
  readonly parked: readonly Waiter[];
}

/** A message that waits for the client to open a stream. */
interface Waiting extends Deadline {
  readonly message: Message;
  readonly session: ClientSession;
}

/** Carries what one backend asks or tells one client, on exactly one stream, and the answers back. */
export class ServerRequests {
  readonly #upstream: Upstream;
  readonly #context: ModeContext;
  readonly #outstanding = new Map<string, Outstanding>();
  readonly #expired = new Set<string>();
  #waiting: Waiting[] = [];

  constructor(upstream: Upstream, context: ModeContext) {
    this.#upstream = upstream;
    this.#context = context;
  }

  get size(): number {
    return this.#outstanding.size;
  }

  /** Takes a request of the server for a client. `waiter` is the request that it belongs to, where that is known. */
  forward(message: Message, session: ClientSession, waiter?: Waiter): void {
    const idText = message.idText ?? '0';
    const refuse = (code: number, text: string) => this.#upstream.write(buildError(idText, { code, message: text }));
    if (!clientAllows(session.capabilities, message)) {
      refuse(METHOD_NOT_FOUND, `The client does not support ${message.method}`);
    } else if (this.#outstanding.has(idKey(idText))) {
      refuse(INVALID_REQUEST, 'Request id already in flight');
    } else if (this.#outstanding.size >= MAX_OUTSTANDING) {
      refuse(INTERNAL_ERROR, 'Too many requests wait for the client');
    } else if (!this.#carry(message, session, waiter)) {
      refuse(INTERNAL_ERROR, 'client not reachable');
    }
  }

  /** Answers a request that came before there was a client to ask. */
  refuseEarly(message: Message): void {
    const error = { code: INTERNAL_ERROR, message: 'client not reachable' };
    this.#upstream.write(buildError(message.idText ?? '0', error));
  }

  /** Takes a notification of the server for a client; what finds no stream in time is dropped. */
  notify(message: Message, session: ClientSession, waiter?: Waiter): void {
    if (message.method === 'notifications/cancelled') this.#cancelledByServer(message);
    else if (!this.#carry(message, session, waiter)) this.#context.drops.add('no-stream', message);
  }

  /** Takes an answer of a client. */
  respond(message: Message, session: ClientSession): Taken {
    const key = idKey(message.idText ?? '');
    const outstanding = this.#outstanding.get(key);
    if (outstanding === undefined || outstanding.session !== session) {
      return this.#expired.has(key) ? 'taken' : 'unknown-id';
    }
    this.#release(outstanding);
    this.#upstream.write(message, outstanding.carrier === undefined ? undefined : String(outstanding.carrier.wireId));
    return 'taken';
  }

  /** The client opened a stream: what waited goes there. */
  streamOpened(session: ClientSession): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const entry of waiting) {
      this.#context.wheel.remove(entry);
      if (entry.message.kind === 'request') this.forward(entry.message, session);
      else this.notify(entry.message, session);
    }
  }

  sessionEnded(session: ClientSession): void {
    for (const outstanding of this.#outstanding.values()) {
      if (outstanding.session === session) this.#giveUp(outstanding, 'session ended');
    }
  }

  /** The backend is gone: nobody waits for the answers any more. */
  backendDown(): void {
    for (const outstanding of this.#outstanding.values()) this.#release(outstanding);
    this.#expired.clear();
    for (const entry of this.#waiting) this.#context.wheel.remove(entry);
    this.#waiting = [];
  }

  close(): void {
    this.backendDown();
  }

  /**
   * Chooses the one stream: the only request on its way, else the standalone stream, else the newest request; with
   * nothing at all the message waits a little for a standalone stream.
   */
  #carry(message: Message, session: ClientSession, waiter: Waiter | undefined): boolean {
    const carrier = this.#carrierFor(session, waiter);
    if (carrier === 'unreachable') return false;
    if (carrier === 'nobody') return this.#wait(message, session);
    if (carrier === 'standalone') {
      const options = { keep: message.kind === 'request', ...keyOf(message) };
      if (!this.#context.deliver(session, message, options)) return false;
    } else {
      carrier.send(message);
    }
    if (message.kind === 'request') this.#track(message, session, carrier === 'standalone' ? undefined : carrier);
    return true;
  }

  #carrierFor(session: ClientSession, waiter: Waiter | undefined): Waiter | 'standalone' | 'nobody' | 'unreachable' {
    if (waiter !== undefined) return waiter.reply.streams && waiter.reply.open ? waiter : 'unreachable';
    const { streaming, others } = this.#upstream.streamingIn(session);
    const [only, ...more] = streaming;
    if (only !== undefined && more.length === 0) return only;
    if (session.stream?.open === true || session.log?.standalone !== undefined) return 'standalone';
    const newest = streaming.at(-1);
    if (newest !== undefined) return newest;
    return others > 0 ? 'unreachable' : 'nobody';
  }

  #wait(message: Message, session: ClientSession): boolean {
    const { settings, wheel } = this.#context;
    if (this.#waiting.length >= settings.unreachableQueueSize) return false;
    const entry: Waiting = {
      message,
      session,
      due: settings.clock.now() + settings.unreachableTimeoutMs,
      slot: 0,
      onDue: () => {
        this.#waiting = this.#waiting.filter((other) => other !== entry);
        if (message.kind === 'request') {
          const error = { code: INTERNAL_ERROR, message: 'client not reachable' };
          this.#upstream.write(buildError(message.idText ?? '0', error));
        } else {
          this.#context.drops.add('no-stream', message);
        }
      },
    };
    this.#waiting.push(entry);
    wheel.add(entry);
    return true;
  }

  #track(message: Message, session: ClientSession, carrier: Waiter | undefined): void {
    const { settings, wheel } = this.#context;
    const idText = message.idText ?? '0';
    const now = settings.clock.now();
    const outstanding: Outstanding = {
      key: idKey(idText),
      idText,
      session,
      carrier,
      // Without a carrier it is unknown which request waits, so all of the session do.
      parked: carrier === undefined ? [...(session.inFlight?.values() ?? [])] : [carrier],
      due: now + settings.serverRequestTimeoutMs,
      slot: 0,
      onDue: () => this.#giveUp(outstanding, 'Request timed out'),
    };
    this.#outstanding.set(outstanding.key, outstanding);
    wheel.add(outstanding);
    for (const waiter of outstanding.parked) waiter.park(now);
  }

  #release(outstanding: Outstanding): void {
    this.#outstanding.delete(outstanding.key);
    this.#context.wheel.remove(outstanding);
    const now = this.#context.settings.clock.now();
    for (const waiter of outstanding.parked) {
      waiter.unpark(now);
      if (!waiter.done) this.#upstream.rearm(waiter);
    }
  }

  #giveUp(outstanding: Outstanding, reason: string): void {
    this.#release(outstanding);
    this.#expire(outstanding.key);
    const cancelled = buildNotification('notifications/cancelled', {
      requestId: JSON.parse(outstanding.idText),
      reason,
    });
    this.#tell(outstanding, cancelled);
    this.#upstream.write(buildError(outstanding.idText, { code: INTERNAL_ERROR, message: reason }));
  }

  #cancelledByServer(message: Message): void {
    const key = cancelledKey(message);
    const outstanding = key === undefined ? undefined : this.#outstanding.get(key);
    if (outstanding === undefined) {
      this.#dropWaiting(key);
      return;
    }
    this.#release(outstanding);
    this.#expire(outstanding.key);
    this.#tell(outstanding, message);
  }

  /** Cancelled before any client saw it. */
  #dropWaiting(key: string | undefined): void {
    const index = this.#waiting.findIndex(
      ({ message }) => message.kind === 'request' && idKey(message.idText ?? '') === key,
    );
    const [entry] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (entry !== undefined) this.#context.wheel.remove(entry);
  }

  #tell({ carrier, session }: Outstanding, message: Message): void {
    if (carrier === undefined) this.#context.deliver(session, message);
    else if (!carrier.done) carrier.send(message);
  }

  #expire(key: string): void {
    this.#expired.add(key);
    if (this.#expired.size <= MAX_EXPIRED) return;
    for (const oldest of this.#expired) {
      this.#expired.delete(oldest);
      break;
    }
  }
}

/** Of these only the newest matters to a client that lags behind. */
function keyOf(message: Message): { key?: string } {
  return message.method?.endsWith('/list_changed') === true ? { key: message.method } : {};
}
