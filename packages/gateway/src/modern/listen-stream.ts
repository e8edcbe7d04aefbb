import type { ListenFilter, Listener, Listening, Reply } from '@thv/dispatcher';
import { buildNotification, buildResult, editMembers, systemClock } from '@thv/transport';
import type { Clock, JsonObject, Message, RequestContext } from '@thv/transport';
import { SERVER_INFO_KEY, SUBSCRIPTION_KEY, own, paramsOf } from '../meta.js';
import { FAULT } from '../replies.js';
import { isFailure } from '../server.js';
import type { ModernServer } from '../server.js';

const FLAGS = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'] as const;
const MAX_URIS = 1000;
const MAX_QUEUED = 100;

/** Reads the filter of `subscriptions/listen`, or says what is wrong with it. */
export function readFilter(message: Message): ListenFilter | string {
  const { notifications } = paramsOf(message);
  if (typeof notifications !== 'object' || notifications === null || Array.isArray(notifications)) {
    return 'params.notifications must be an object';
  }
  const filter: { -readonly [Key in keyof ListenFilter]: ListenFilter[Key] } = {};
  for (const flag of FLAGS) {
    const value = own(notifications, flag);
    if (value !== undefined && typeof value !== 'boolean') return `params.notifications.${flag} must be true or false`;
    if (value === true) filter[flag] = true;
  }
  const uris = own(notifications, 'resourceSubscriptions');
  if (uris === undefined) return filter;
  const isList = Array.isArray(uris) && uris.every((uri) => typeof uri === 'string' && uri !== '');
  if (!isList || (uris as unknown[]).length > MAX_URIS) {
    return `params.notifications.resourceSubscriptions must be a list of at most ${MAX_URIS} URIs`;
  }
  return { ...filter, resourceSubscriptions: uris as readonly string[] };
}

/** One open `subscriptions/listen`: the acknowledgement first, then what was asked for, each with the request's id. */
export class ListenStream implements Listener {
  readonly #reply: Reply;
  readonly #idText: string;
  readonly #serverInfo: () => string | undefined;
  readonly #clock: Clock;
  readonly #keepAliveMs: number;
  readonly #onOver: () => void;
  #queue: Message[] | undefined = [];
  #listening: Listening | undefined;
  #stopTimer: (() => void) | undefined;
  #over = false;
  #blocked = false;

  constructor(
    message: Message,
    reply: Reply,
    options: {
      readonly serverInfo: () => string | undefined;
      readonly keepAliveMs: number;
      readonly clock?: Clock;
      readonly onOver: () => void;
    },
  ) {
    this.#reply = reply;
    this.#idText = message.idText ?? '0';
    this.#serverInfo = options.serverInfo;
    this.#clock = options.clock ?? systemClock;
    this.#keepAliveMs = options.keepAliveMs;
    this.#onOver = options.onOver;
  }

  async open(server: ModernServer, filter: ListenFilter, context: RequestContext): Promise<void> {
    this.#reply.onGone = () => this.#gone();
    const listening = await server.listen(filter, this, context).catch(() => FAULT);
    if (isFailure(listening)) {
      this.#finish();
      this.#reply.settle({ kind: 'failure', failure: listening });
      return;
    }
    if (this.#over) {
      listening.close();
      return;
    }
    this.#listening = listening;
    const waiting = this.#queue ?? [];
    this.#queue = undefined;
    const params = { notifications: listening.honoured };
    this.#write(buildNotification('notifications/subscriptions/acknowledged', params));
    for (const message of waiting) this.#write(message);
    this.#keepAliveLater();
  }

  send(message: Message): void {
    if (this.#over) return;
    if (this.#queue === undefined && !this.#blocked) {
      this.#write(message);
      return;
    }
    const queue = (this.#queue ??= []);
    // Of equal news the newest is enough for a client that does not read.
    const same = queue.findIndex((other) => other.bytes.equals(message.bytes));
    if (same >= 0) queue.splice(same, 1);
    queue.push(message);
    if (queue.length > MAX_QUEUED) queue.shift();
  }

  end(graceful: boolean): void {
    if (this.#over) return;
    this.#finish();
    const serverInfo = this.#serverInfo();
    const info = serverInfo === undefined ? {} : { [SERVER_INFO_KEY]: JSON.parse(serverInfo) as JsonObject };
    const result = {
      resultType: 'complete',
      _meta: { [SUBSCRIPTION_KEY]: JSON.parse(this.#idText) as unknown, ...info },
    };
    if (graceful) this.#reply.settle({ kind: 'answer', message: buildResult(this.#idText, result) });
    else this.#reply.settle({ kind: 'cancelled' });
  }

  #write(message: Message): void {
    const set = { [SUBSCRIPTION_KEY]: this.#idText };
    if (this.#reply.send(editMembers(message, { path: ['params', '_meta'], set }))) return;
    this.#blocked = true;
    this.#reply.onDrain = () => this.#drained();
  }

  #drained(): void {
    this.#blocked = false;
    const waiting = this.#queue ?? [];
    this.#queue = undefined;
    for (const message of waiting) this.send(message);
  }

  #keepAliveLater(): void {
    this.#stopTimer = this.#clock.setTimer(this.#keepAliveMs, () => {
      this.#reply.keepAlive();
      this.#keepAliveLater();
    });
  }

  #gone(): void {
    if (this.#over) return;
    this.#finish();
    this.#listening?.close();
    this.#reply.settle({ kind: 'cancelled' });
  }

  #finish(): void {
    this.#over = true;
    this.#stopTimer?.();
    this.#onOver();
  }
}
