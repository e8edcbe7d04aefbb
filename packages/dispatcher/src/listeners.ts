import type { Message } from '@thv/transport';
import { INTERNAL_ERROR } from './codes.js';
import type { Failure } from './outcome.js';
import type { Subscriber, Subscriptions } from './subscriptions.js';

/** What a client of 2026-07-28 wants to hear of. */
export interface ListenFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  /** URIs of resources. */
  readonly resourceSubscriptions?: readonly string[];
}

/** Who listens. */
export interface Listener {
  /** Takes a notification that was asked for. */
  send(message: Message): void;
  /** Nothing follows. `graceful`: the end was ours, so that a last result may be sent. */
  end(graceful: boolean): void;
}

/** One subscription that is open. */
export interface Listening {
  /** The part of the filter that is served. */
  readonly honoured: ListenFilter;
  /** The client is gone, or wants no more. Idempotent; `end` is not called. */
  close(): void;
}

const FLAGS = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const;

const FLAG_OF = new Map<string, keyof Omit<ListenFilter, 'resourceSubscriptions'>>(
  Object.entries(FLAGS).map(([kind, flag]) => [`notifications/${kind}/list_changed`, flag]),
);

/** What of a filter a server with these capabilities can serve. */
export function honouredBy(capabilities: Readonly<Record<string, unknown>>, filter: ListenFilter): ListenFilter {
  const has = (kind: string, feature: string): boolean => {
    const entry = Object.hasOwn(capabilities, kind) ? capabilities[kind] : undefined;
    return typeof entry === 'object' && entry !== null && (entry as Record<string, unknown>)[feature] === true;
  };
  const flags = Object.entries(FLAGS).flatMap(([kind, flag]) =>
    filter[flag] === true && has(kind, 'listChanged') ? [[flag, true] as const] : [],
  );
  const uris = has('resources', 'subscribe') ? filter.resourceSubscriptions : undefined;
  return {
    ...Object.fromEntries(flags),
    ...(uris === undefined || uris.length === 0 ? {} : { resourceSubscriptions: [...new Set(uris)] }),
  };
}

/** One listener, as the table of subscriptions sees it. */
export class ListenEntry implements Subscriber {
  ended = false;
  subscriptions: Set<string> | undefined = undefined;
  readonly listener: Listener;
  honoured: ListenFilter;

  constructor(listener: Listener, honoured: ListenFilter) {
    this.listener = listener;
    this.honoured = honoured;
  }

  wantsListChanged(method: string): boolean {
    const flag = FLAG_OF.get(method);
    return flag !== undefined && this.honoured[flag] === true;
  }
}

const MAX_LISTENERS = 1024;

const TOO_MANY: Failure = {
  reason: 'busy',
  status: 503,
  code: INTERNAL_ERROR,
  message: `More than ${MAX_LISTENERS} subscriptions are open`,
  data: { reason: 'too-many-subscriptions' },
  retryAfterMs: 5000,
};

/** All who listen to one backend. */
export class Listeners {
  readonly #subscriptions: Subscriptions;
  readonly #entries = new Set<ListenEntry>();

  constructor(subscriptions: Subscriptions) {
    this.#subscriptions = subscriptions;
  }

  get size(): number {
    return this.#entries.size;
  }

  async open(
    filter: ListenFilter,
    listener: Listener,
    capabilities: Readonly<Record<string, unknown>>,
  ): Promise<Listening | Failure> {
    if (this.#entries.size >= MAX_LISTENERS) return TOO_MANY;
    const entry = new ListenEntry(listener, honouredBy(capabilities, filter));
    this.#entries.add(entry);
    await this.#subscribe(entry);
    return {
      get honoured() {
        return entry.honoured;
      },
      close: () => this.#end(entry),
    };
  }

  listChanged(method: string, message: Message): void {
    for (const entry of this.#entries) if (entry.wantsListChanged(method)) entry.listener.send(message);
  }

  close(): void {
    for (const entry of this.#entries) {
      entry.ended = true;
      entry.listener.end(true);
    }
    this.#entries.clear();
  }

  /** What the backend refuses is not honoured. */
  async #subscribe(entry: ListenEntry): Promise<void> {
    const uris = entry.honoured.resourceSubscriptions ?? [];
    if (uris.length === 0) return;
    const taken = await Promise.all(uris.map((uri) => this.#subscriptions.join(uri, entry)));
    const { resourceSubscriptions: _all, ...flags } = entry.honoured;
    const kept = uris.filter((_, index) => taken[index]);
    entry.honoured = kept.length === 0 ? flags : { ...flags, resourceSubscriptions: kept };
  }

  #end(entry: ListenEntry): void {
    if (entry.ended) return;
    entry.ended = true;
    this.#entries.delete(entry);
    this.#subscriptions.purge(entry);
  }
}
