import type { Message } from '@thv/transport';
import { ListenEntry } from './listeners.js';
import type { Listeners } from './listeners.js';
import { rankOf } from './log-level.js';
import type { ModeContext } from './mode.js';
import { stringIn } from './revision.js';
import { ClientSession, paramsOf } from './sessions.js';
import type { Subscriptions } from './subscriptions.js';
import type { Waiter } from './waiters.js';

/** Changes of lists, with the capability that promises them. */
export const LIST_CHANGED = new Map([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/resources/list_changed', 'resources'],
  ['notifications/prompts/list_changed', 'prompts'],
]);

/** Where the notifications of a shared backend go. What cannot be attributed reaches nobody. */
export class SharedNews {
  readonly #context: ModeContext;
  readonly #subscriptions: Subscriptions;
  readonly #listeners: Listeners;
  readonly #isPersonal: boolean;

  constructor(context: ModeContext, subscriptions: Subscriptions, listeners: Listeners, isPersonal: boolean) {
    this.#context = context;
    this.#subscriptions = subscriptions;
    this.#listeners = listeners;
    this.#isPersonal = isPersonal;
  }

  receive(message: Message, waiter: Waiter | undefined): void {
    const method = message.method ?? '';
    if (LIST_CHANGED.has(method)) {
      this.listChanged(method, message);
    } else if (method === 'notifications/resources/updated') {
      this.#resourceUpdated(message);
    } else if (waiter !== undefined && waiter.reply.streams) {
      if (this.#wantsLog(message, waiter)) waiter.send(message);
    } else if (this.#isPersonal && method === 'notifications/message') {
      this.#logged(message);
    } else {
      const reason = method === 'notifications/message' ? 'unattributed-log' : 'unattributed-notification';
      this.#context.drops.add(reason, message);
    }
  }

  /** All sessions are one person's, so each may hear what the server logs. */
  #logged(message: Message): void {
    const rank = rankOf(paramsOf(message)['level']);
    for (const session of this.#context.sessions) {
      const isWanted = session.logRank === undefined || rank === undefined || rank <= session.logRank;
      if (isWanted) this.#context.deliver(session, message);
    }
  }

  listChanged(method: string, message: Message): void {
    for (const session of this.#context.sessions) this.#context.deliver(session, message, { key: method });
    this.#listeners.listChanged(method, message);
  }

  /** The backend runs at the most verbose level of all; each session hears what it asked for. */
  #wantsLog(message: Message, waiter: Waiter): boolean {
    if (message.method !== 'notifications/message' || !(waiter.lane instanceof ClientSession)) return true;
    const rank = rankOf(paramsOf(message)['level']);
    return waiter.lane.logRank === undefined || rank === undefined || rank <= waiter.lane.logRank;
  }

  #resourceUpdated(message: Message): void {
    const uri = stringIn(paramsOf(message), 'uri') ?? '';
    let delivered = false;
    for (const subscriber of this.#subscriptions.subscribers(uri)) {
      if (subscriber instanceof ListenEntry) {
        subscriber.listener.send(message);
        delivered = true;
      } else if (subscriber instanceof ClientSession) {
        delivered = this.#context.deliver(subscriber, message, { key: `updated ${uri}` }) || delivered;
      }
    }
    if (!delivered) this.#context.drops.add('no-subscriber', message);
  }
}
