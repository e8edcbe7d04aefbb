import type { Message } from '@thv/transport';
import type { Subscriber } from './subscriptions.js';

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
