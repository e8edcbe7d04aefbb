import { buildRequest, buildResult, createKeyedMutex } from '@thv/transport';
import type { Outcome } from './outcome.js';
import type { Upstream } from './upstream.js';
import type { Waiter } from './waiters.js';

/** Who may subscribe: a session, or a listener of the newer era. */
export interface Subscriber {
  readonly ended: boolean;
  /** URIs, kept by {@link Subscriptions}. */
  subscriptions: Set<string> | undefined;
}

/**
 * Which sessions want to hear of which resource. The backend sees the first subscriber come and the last one go; a
 * subscription counts only after the backend agreed. Deciding, forwarding and recording happen under one lock for
 * each URI.
 */
export class Subscriptions {
  readonly #upstream: Upstream;
  readonly #dedupe: boolean;
  readonly #lock = createKeyedMutex();
  readonly #byUri = new Map<string, Set<Subscriber>>();

  constructor(upstream: Upstream, dedupe: boolean) {
    this.#upstream = upstream;
    this.#dedupe = dedupe;
  }

  /** Who wants to hear of a resource. */
  subscribers(uri: string): Iterable<Subscriber> {
    return this.#byUri.get(uri) ?? [];
  }

  get uris(): readonly string[] {
    return [...this.#byUri.keys()];
  }

  /** Serves `resources/subscribe` of a session. */
  async subscribe(waiter: Waiter, uri: string, session: Subscriber): Promise<void> {
    const release = await this.#lock.lock(uri);
    try {
      if (waiter.done) return;
      if (this.#dedupe && this.#byUri.has(uri)) {
        this.#add(uri, session);
        this.#answerLocally(waiter);
        return;
      }
      // Recorded in the same turn as the answer: an update may stand right behind it in one chunk.
      const agreed = await this.#forward(waiter, (outcome) => {
        const success = outcome.kind === 'answer' && !outcome.message.isError;
        if (success && !session.ended) this.#add(uri, session);
        return success;
      });
      if (agreed && session.ended) await this.#unsubscribeIfUnused(uri);
    } finally {
      release();
    }
  }

  /** Adds a subscriber that sent no request of its own; false where the backend refuses. */
  async join(uri: string, subscriber: Subscriber): Promise<boolean> {
    const release = await this.#lock.lock(uri);
    try {
      if (subscriber.ended) return false;
      if (!this.#dedupe || !this.#byUri.has(uri)) {
        const outcome = await this.#upstream.call(buildRequest('resources/subscribe', { uri }));
        if (outcome.kind !== 'answer' || outcome.message.isError) return false;
      }
      if (subscriber.ended) {
        await this.#unsubscribeIfUnused(uri);
        return false;
      }
      this.#add(uri, subscriber);
      return true;
    } finally {
      release();
    }
  }

  /** Serves `resources/unsubscribe` of a session. The client has left whatever the backend says. */
  async unsubscribe(waiter: Waiter, uri: string, session: Subscriber): Promise<void> {
    const release = await this.#lock.lock(uri);
    try {
      if (waiter.done) return;
      if (this.#remove(uri, session)) await this.#forward(waiter, () => undefined);
      else this.#answerLocally(waiter);
    } finally {
      release();
    }
  }

  /** Takes a session out of everything it subscribed to, and tells the backend where it was the last. */
  purge(session: Subscriber): void {
    const uris = [...(session.subscriptions ?? [])];
    for (const uri of uris) void this.#purgeOne(uri, session);
  }

  /** Subscribes a new backend to what the sessions still want. */
  async restore(): Promise<void> {
    await Promise.all(
      this.uris.map(async (uri) => {
        const release = await this.#lock.lock(uri);
        try {
          if (this.#byUri.has(uri)) await this.#upstream.call(buildRequest('resources/subscribe', { uri }));
        } finally {
          release();
        }
      }),
    );
  }

  async #purgeOne(uri: string, session: Subscriber): Promise<void> {
    const release = await this.#lock.lock(uri);
    try {
      if (this.#remove(uri, session)) await this.#unsubscribe(uri);
    } finally {
      release();
    }
  }

  async #unsubscribeIfUnused(uri: string): Promise<void> {
    if (!this.#byUri.has(uri)) await this.#unsubscribe(uri);
  }

  async #unsubscribe(uri: string): Promise<void> {
    if (this.#upstream.refusal() === undefined)
      await this.#upstream.call(buildRequest('resources/unsubscribe', { uri }));
  }

  #forward<T>(waiter: Waiter, onOutcome: (outcome: Outcome) => T): Promise<T> {
    return new Promise((resolve) => {
      waiter.onceSettled((outcome) => resolve(onOutcome(outcome)));
      this.#upstream.dispatch(waiter);
    });
  }

  #answerLocally(waiter: Waiter): void {
    this.#upstream.settle(waiter, { kind: 'answer', message: buildResult(waiter.message.idText ?? '0', {}) });
  }

  #add(uri: string, session: Subscriber): void {
    const sessions = this.#byUri.get(uri);
    if (sessions === undefined) this.#byUri.set(uri, new Set([session]));
    else sessions.add(session);
    (session.subscriptions ??= new Set()).add(uri);
  }

  /** True when the session was there and nobody is left. */
  #remove(uri: string, session: Subscriber): boolean {
    session.subscriptions?.delete(uri);
    const sessions = this.#byUri.get(uri);
    if (sessions === undefined || !sessions.delete(session) || sessions.size > 0) return false;
    this.#byUri.delete(uri);
    return true;
  }

  /** What to do when the backend agrees to a subscription that the client no longer waits for. */
  lateSuccess(uri: string): void {
    void this.#lock.lock(uri).then(async (release) => {
      try {
        await this.#unsubscribeIfUnused(uri);
      } finally {
        release();
      }
    });
  }
}
