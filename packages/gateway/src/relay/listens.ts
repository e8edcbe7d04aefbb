import type { Channel, Exchange, Failure, ListenFilter, Listener, Listening, Outcome, Reply } from '@thv/dispatcher';
import { RPC_CODES, editMembers, systemClock } from '@thv/transport';
import type { Clock, Message } from '@thv/transport';
import { SUBSCRIPTION_KEY, isObject, metaOf, modernRequest, own, paramsOf } from '../meta.js';
import { refused } from '../replies.js';

const MAX_LISTENS = 1024;
/** How long a server may take to say that it has a subscription; whoever asked for it may be gone meanwhile. */
const ACKNOWLEDGE_MS = 30_000;
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

/** The subscriptions at a server of 2026-07-28: one for each client's, with its filter, told apart by their ids. */
export class RelayListens {
  readonly #channel: Channel;
  readonly #clientInfo: { readonly name: string; readonly version: string };
  readonly #clock: Clock;
  readonly #open = new Map<number, OpenListen>();

  constructor(
    channel: Channel,
    clientInfo: { readonly name: string; readonly version: string },
    clock: Clock = systemClock,
  ) {
    this.#channel = channel;
    this.#clock = clock;
    this.#clientInfo = clientInfo;
  }

  async open(filter: ListenFilter, listener: Listener): Promise<Listening | Failure> {
    if (this.#open.size >= MAX_LISTENS) {
      const text = `More than ${MAX_LISTENS} subscriptions are open`;
      return refused(503, RPC_CODES.internalError, text, { reason: 'too-many-subscriptions' });
    }
    const entry = new OpenListen(listener);
    const message = modernRequest('subscriptions/listen', { notifications: filter }, this.#clientInfo);
    const exchange = this.#channel.request(message, entry);
    if (exchange === undefined) return entry.acknowledged;
    entry.exchange = exchange;
    this.#open.set(exchange.wireId, entry);
    const stop = this.#clock.setTimer(ACKNOWLEDGE_MS, () => entry.giveUp());
    entry.onOver = () => {
      stop();
      this.#open.delete(exchange.wireId);
    };
    return entry.acknowledged;
  }

  /** Takes a notification; false when it belongs to no subscription. */
  receive(message: Message): boolean {
    const id = own(metaOf(message), SUBSCRIPTION_KEY);
    const entry = typeof id === 'number' ? this.#open.get(id) : undefined;
    if (entry === undefined) return false;
    if (message.method === ACKNOWLEDGED) entry.acknowledge(message);
    else entry.listener.send(untagged(message));
    return true;
  }

  /** The server is gone without a word. */
  down(): void {
    for (const entry of this.#open.values()) entry.over(false);
  }

  close(): void {
    for (const entry of this.#open.values()) entry.over(true);
  }
}

/** The subscription's id belongs to this hop; the edge puts the client's there. */
const untagged = (message: Message): Message =>
  editMembers(message, { path: ['params', '_meta'], remove: (key) => key === SUBSCRIPTION_KEY });

/** One subscription, as the reply to its request. */
class OpenListen implements Reply {
  readonly streams = false;
  readonly open = true;
  readonly bufferedBytes = 0;
  readonly listener: Listener;
  readonly acknowledged: Promise<Listening | Failure>;
  exchange: Exchange | undefined;
  onOver: (() => void) | undefined;
  #resolve: (answer: Listening | Failure) => void = () => undefined;
  #isOver = false;
  #isAcknowledged = false;

  constructor(listener: Listener) {
    this.listener = listener;
    this.acknowledged = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  acknowledge(message: Message): void {
    const { notifications } = paramsOf(message);
    this.#isAcknowledged = true;
    const honoured = isObject(notifications) ? (notifications as ListenFilter) : {};
    this.#resolve({ honoured, close: () => this.#closed() });
  }

  /** Ends a subscription that the server does not acknowledge. */
  giveUp(): void {
    if (this.#isAcknowledged) return;
    this.#resolve(refused(504, RPC_CODES.internalError, 'The MCP server did not acknowledge the subscription'));
    this.#closed();
  }

  over(graceful: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onOver?.();
    this.#resolve(refused(502, RPC_CODES.internalError, 'The MCP server ended the subscription'));
    if (this.#isAcknowledged) this.listener.end(graceful);
  }

  send(): boolean {
    return true;
  }

  keepAlive(): void {
    // The edge keeps its own stream alive.
  }

  settle(outcome: Outcome): void {
    if (outcome.kind === 'failure') this.#resolve(outcome.failure);
    else if (outcome.kind === 'answer' && outcome.message.isError) this.#resolve(failureFrom(outcome.message));
    this.over(outcome.kind === 'answer' && !outcome.message.isError);
  }

  #closed(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onOver?.();
    this.exchange?.cancel({ reason: 'The client is gone' });
  }
}

function failureFrom(message: Message): Failure {
  const error = message.json()['error'];
  const code = own(error, 'code');
  const text = own(error, 'message');
  const isUnknown = code === RPC_CODES.methodNotFound;
  return refused(isUnknown ? 404 : 400, typeof code === 'number' ? code : RPC_CODES.internalError, String(text));
}
