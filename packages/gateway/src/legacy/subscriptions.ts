import type { Failure, ListenFilter, Listening } from '@thv/dispatcher';
import type { Clock, Message, RequestContext } from '@thv/transport';
import { isFailure } from '../server.js';
import type { ModernServer } from '../server.js';

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
const LISTS: ListenFilter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

/**
 * What one session of an older client listens to: one subscription at the server, with everything that it wants. When
 * that changes, the new one is open before the old one is closed, and what both report is told once.
 */
export class SessionSubscriptions {
  readonly #server: ModernServer;
  readonly #context: RequestContext;
  readonly #send: (message: Message) => void;
  readonly #clock: Clock;
  readonly #uris = new Set<string>();
  #stopRetry: (() => void) | undefined;
  #retryMs = FIRST_RETRY_MS;
  #current: Current | undefined;
  #changing: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(server: ModernServer, context: RequestContext, send: (message: Message) => void, clock: Clock) {
    this.#server = server;
    this.#clock = clock;
    this.#context = context;
    this.#send = send;
  }

  /** Hears of changed lists. */
  start(): void {
    void this.#renew();
  }

  /** Adds a resource; answers why it cannot be heard of. */
  async subscribe(uri: string): Promise<Failure | 'refused' | undefined> {
    this.#uris.add(uri);
    const failure = await this.#renew();
    if (failure !== undefined) {
      this.#uris.delete(uri);
      return failure;
    }
    const honoured = this.#current?.listening.honoured.resourceSubscriptions ?? [];
    if (honoured.includes(uri)) return undefined;
    this.#uris.delete(uri);
    return 'refused';
  }

  async unsubscribe(uri: string): Promise<void> {
    if (this.#uris.delete(uri)) await this.#renew();
  }

  close(): void {
    this.#closed = true;
    this.#stopRetry?.();
    this.#current?.listening.close();
    this.#current = undefined;
  }

  /** One change at a time. */
  #renew(): Promise<Failure | undefined> {
    const next = this.#changing.then(() => this.#open());
    this.#changing = next;
    return next;
  }

  /** A server that came back knows nothing of who listened. */
  #renewLater(): void {
    if (this.#closed || this.#stopRetry !== undefined) return;
    this.#stopRetry = this.#clock.setTimer(this.#retryMs, () => {
      this.#stopRetry = undefined;
      this.#retryMs = Math.min(MAX_RETRY_MS, this.#retryMs * 2);
      void this.#renew().then((failure) => {
        if (failure !== undefined) this.#renewLater();
      });
    });
  }

  async #open(): Promise<Failure | undefined> {
    if (this.#closed) return undefined;
    const entry: Current = { listening: { honoured: {}, close: () => undefined } };
    const filter = this.#uris.size === 0 ? LISTS : { ...LISTS, resourceSubscriptions: [...this.#uris] };
    const listening = await this.#server.listen(
      filter,
      {
        // While the old one is open it is the one that reports, so that nothing is told twice.
        send: (message) => {
          if (this.#current === entry || this.#current === undefined) this.#send(message);
        },
        end: () => {
          if (this.#current !== entry) return;
          this.#current = undefined;
          this.#renewLater();
        },
      },
      this.#context,
    );
    if (isFailure(listening)) return listening;
    entry.listening = listening;
    this.#retryMs = FIRST_RETRY_MS;
    const old = this.#current;
    if (this.#closed) listening.close();
    else this.#current = entry;
    old?.listening.close();
    return undefined;
  }
}

interface Current {
  listening: Listening;
}
