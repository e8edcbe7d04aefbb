import type { Connection, ConnectionDown, Message } from '@thv/transport';
import { DeadlineWheel } from './deadlines.js';
import { createLane } from './lanes.js';
import type { Lane } from './lanes.js';
import { settingsFrom } from './options.js';
import type { DispatcherOptions, DispatcherSettings } from './options.js';
import type { Failure, Outcome, Reply } from './outcome.js';
import { Upstream } from './upstream.js';
import type { Waiter } from './waiters.js';

/** Options of {@link createChannel}; they mean what they mean for a dispatcher. */
export type ChannelOptions = Pick<
  DispatcherOptions,
  | 'attributionKey'
  | 'clock'
  | 'keepAliveMs'
  | 'maxInFlightPerSession'
  | 'maxQueuedBytes'
  | 'maxQueuedMessages'
  | 'maxTotalTimeoutMs'
  | 'methodTimeoutsMs'
  | 'randomId'
  | 'requestTimeoutMs'
  | 'resetTimeoutOnProgress'
  | 'streamAfterMs'
>;

/** One request on its way through a channel. */
export interface Exchange {
  /** The id that the backend sees. */
  readonly wireId: number;
  readonly done: boolean;
  /** Gives the request up: the backend is told, the reply is settled as cancelled. */
  cancel(params?: Readonly<Record<string, unknown>>): void;
  /** The deadline stands still, as often as it is called, until as many {@link unpark}. */
  park(): void;
  unpark(): void;
}

/** What a channel tells its owner. No handler may throw. */
export interface ChannelHandlers {
  /**
   * A request or a notification of the backend, except progress, which went to its reply. `exchange` is the request
   * that it belongs to, where the backend says so.
   */
  onMessage(message: Message, exchange: Exchange | undefined): void;
  onUp?(): void;
  /** Everything on its way was settled with `failure`. */
  onDown?(down: ConnectionDown, failure: Failure): void;
  onDrop?(reason: 'unknown-response' | 'late-response' | 'unknown-progress', message: Message): void;
  onNoise?(text: string): void;
}

/** Many requests over one connection, each to its own reply. */
export interface Channel {
  readonly connection: Connection;
  readonly inFlight: number;
  /** The last lines that the backend wrote to stderr before it went away. */
  readonly stderrTail: readonly string[];
  start(signal?: AbortSignal): Promise<void>;
  /** Why no request can be taken now. */
  refusal(): Failure | undefined;
  /**
   * Sends a request under an id of the channel's own; the reply is settled exactly once, under the request's id.
   * Requests of one `lane` may not share an id, and wait for one another's turn.
   *
   * @returns `undefined` where the reply is settled already: the id is on its way, or the backend cannot be reached
   */
  request(message: Message, reply: Reply, options?: { readonly lane?: ChannelLane }): Exchange | undefined;
  /** Sends a request of our own. */
  call(message: Message): Promise<Outcome>;
  /** Sends a notification; `false` when the queue is full. */
  notify(message: Message): boolean;
  /** Sends an answer to a request of the backend, before everything that waits. */
  write(message: Message): void;
  /** Fails what is on its way and ends the backend. Idempotent. */
  close(failure?: Failure): Promise<void>;
}

/** Requests that belong together, such as those of one session; see {@link createChannelLane}. */
export type ChannelLane = Lane;

/** A lane for {@link Channel.request}. */
export const createChannelLane = (): ChannelLane => createLane();

/**
 * Makes a channel: the part of a dispatcher that gives out ids, restores progress tokens, keeps deadlines and fails
 * everything when the backend goes, for those who know their clients themselves.
 *
 * @throws DispatcherError `ERR_DISPATCHER_ARGUMENT` for an option of the wrong kind
 */
export function createChannel(connection: Connection, options: ChannelOptions, handlers: ChannelHandlers): Channel {
  return new ConnectionChannel(connection, settingsFrom({ ...options, connection }), handlers);
}

class ConnectionChannel implements Channel {
  readonly connection: Connection;
  readonly #settings: DispatcherSettings;
  readonly #wheel: DeadlineWheel;
  readonly #upstream: Upstream;
  readonly #lane = createLane();
  #closing: Promise<void> | undefined;

  constructor(connection: Connection, settings: DispatcherSettings, handlers: ChannelHandlers) {
    this.connection = connection;
    this.#settings = settings;
    this.#wheel = new DeadlineWheel(settings.clock);
    this.#upstream = new Upstream(connection, settings, this.#wheel, {
      onMessage: (message, waiter) => handlers.onMessage(message, waiter && this.#exchangeOf(waiter)),
      onUp: () => handlers.onUp?.(),
      onDown: (down, failure) => handlers.onDown?.(down, failure),
      onDrop: (reason, message) => handlers.onDrop?.(reason, message),
      onNoise: (text) => handlers.onNoise?.(text),
    });
  }

  get inFlight(): number {
    return this.#upstream.inFlight;
  }

  get stderrTail(): readonly string[] {
    return this.#upstream.stderrTail;
  }

  start(signal?: AbortSignal): Promise<void> {
    return this.#upstream.start(signal);
  }

  refusal(): Failure | undefined {
    return this.#upstream.refusal();
  }

  request(message: Message, reply: Reply, { lane = createLane() }: { lane?: ChannelLane } = {}): Exchange | undefined {
    const waiter = this.#upstream.admit(lane, message, reply);
    if (waiter === undefined) return undefined;
    this.#upstream.dispatch(waiter);
    return waiter.done ? undefined : this.#exchangeOf(waiter);
  }

  call(message: Message): Promise<Outcome> {
    return this.#upstream.call(message);
  }

  notify(message: Message): boolean {
    return this.#upstream.notify(this.#lane, message);
  }

  write(message: Message): void {
    this.#upstream.write(message);
  }

  close(failure?: Failure): Promise<void> {
    return (this.#closing ??= this.#close(failure));
  }

  async #close(failure: Failure | undefined): Promise<void> {
    await (failure === undefined ? this.#upstream.close() : this.#upstream.close(failure));
    this.#wheel.close();
  }

  #exchangeOf(waiter: Waiter): Exchange {
    return (waiter.exchange ??= new WaiterExchange(waiter, this.#upstream, this.#settings));
  }
}

class WaiterExchange implements Exchange {
  readonly #waiter: Waiter;
  readonly #upstream: Upstream;
  readonly #settings: DispatcherSettings;

  constructor(waiter: Waiter, upstream: Upstream, settings: DispatcherSettings) {
    this.#waiter = waiter;
    this.#upstream = upstream;
    this.#settings = settings;
  }

  get wireId(): number {
    return this.#waiter.wireId;
  }

  get done(): boolean {
    return this.#waiter.done;
  }

  cancel(params: Readonly<Record<string, unknown>> = {}): void {
    this.#upstream.cancel(this.#waiter, params);
  }

  park(): void {
    this.#waiter.park(this.#settings.clock.now());
  }

  unpark(): void {
    this.#waiter.unpark(this.#settings.clock.now());
    if (!this.#waiter.done) this.#upstream.rearm(this.#waiter);
  }
}
