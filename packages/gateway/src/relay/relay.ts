import { createChannel } from '@thv/dispatcher';
import type {
  Channel,
  ChannelOptions,
  Exchange,
  Failure,
  ListenFilter,
  Listener,
  Listening,
  Outcome,
  Reply,
} from '@thv/dispatcher';
import { RPC_CODES, buildError, editMembers } from '@thv/transport';
import type { Connection, Message, RequestContext } from '@thv/transport';
import { LOG_LEVEL_KEY, metaOf, own, mayHold } from '../meta.js';
import { descriptionFrom, discoverRequest } from '../probe/probe.js';
import { PassingReply, refused } from '../replies.js';
import type { ModernServer, ServerDescription } from '../server.js';
import { RelayListens } from './listens.js';
import type { Position, StateWrap } from './state-wrap.js';

/** Options of {@link createRelay}. */
export interface RelayOptions {
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly channel: ChannelOptions;
  /** What the probe found; asked for again after a restart. */
  readonly description: ServerDescription | undefined;
  /** Seals the server's states; absent: they pass as they are. */
  readonly wrap?: StateWrap | undefined;
  readonly onDropped?: (reason: string, message: Message) => void;
  readonly onWarning?: (text: string) => void;
}

/** The longest that a timer can wait: a subscription has no end of its own. */
const NEVER_MS = 2 ** 31 - 1;

/** A server of 2026-07-28 behind one connection, for many clients: messages pass as they are, under ids of our own. */
export interface Relay extends ModernServer {
  start(signal?: AbortSignal): Promise<void>;
  refusal(): Failure | undefined;
  counts(): { readonly inFlight: number };
}

export function createRelay(connection: Connection, options: RelayOptions): Relay {
  return new ChannelRelay(connection, options);
}

class ChannelRelay implements Relay {
  onToolsChanged: (() => void) | undefined;
  readonly #options: RelayOptions;
  readonly #channel: Channel;
  readonly #listens: RelayListens;
  #description: Promise<ServerDescription | Failure> | undefined;
  #isFirst = true;

  constructor(connection: Connection, options: RelayOptions) {
    this.#options = options;
    if (options.description !== undefined) this.#description = Promise.resolve(options.description);
    const channelOptions = {
      ...options.channel,
      methodTimeoutsMs: { ...options.channel.methodTimeoutsMs, 'subscriptions/listen': NEVER_MS },
    };
    this.#channel = createChannel(connection, channelOptions, {
      onMessage: (message, exchange) => this.#receive(message, exchange),
      onUp: () => this.#up(),
      onDown: () => {
        this.#description = undefined;
        this.#listens.down();
      },
      onDrop: (reason, message) => options.onDropped?.(reason, message),
      onNoise: (text) => options.onWarning?.(text),
    });
    this.#listens = new RelayListens(this.#channel, options.clientInfo, options.channel.clock);
  }

  start(signal?: AbortSignal): Promise<void> {
    return this.#channel.start(signal);
  }

  refusal(): Failure | undefined {
    return this.#channel.refusal();
  }

  counts() {
    return { inFlight: this.#channel.inFlight };
  }

  discover(): Promise<ServerDescription | Failure> {
    return (this.#description ??= this.#describe().then((answer) => {
      if ('reason' in answer) this.#description = undefined;
      return answer;
    }));
  }

  request(message: Message, reply: Reply, context: RequestContext): void {
    const { wrap } = this.#options;
    const plain = Object.hasOwn(metaOf(message), LOG_LEVEL_KEY) ? withoutLogLevel(message) : message;
    if (wrap === undefined) this.#send(plain, reply);
    else void this.#sendSealed(wrap, plain, reply, context);
  }

  listen(filter: ListenFilter, listener: Listener, _context: RequestContext): Promise<Listening | Failure> {
    return this.#listens.open(filter, listener);
  }

  async close(): Promise<void> {
    this.#listens.close();
    await this.#channel.close();
  }

  #send(message: Message, reply: Reply): void {
    const exchange = this.#channel.request(message, reply);
    if (exchange !== undefined) reply.onGone = () => exchange.cancel({ reason: 'The client is gone' });
  }

  async #sendSealed(wrap: StateWrap, message: Message, reply: Reply, context: RequestContext): Promise<void> {
    try {
      const unwrapped = await wrap.unwrap(message, context.principal);
      if (unwrapped.kind === 'refused') {
        this.#options.onWarning?.(`request state refused: ${unwrapped.reason}`);
        reply.settle({ kind: 'answer', message: buildError(message.idText ?? '0', unwrapped.error) });
        return;
      }
      const seal = (answer: Message, position: Position | undefined) =>
        wrap.wrap(message, answer, context.principal, position);
      this.#send(unwrapped.message, new SealingReply(reply, (answer) => seal(answer, unwrapped.position)));
    } catch (error) {
      reply.settle({ kind: 'failure', failure: stateFailure(error) });
    }
  }

  #receive(message: Message, exchange: Exchange | undefined): void {
    if (message.kind === 'request') {
      const error = {
        code: RPC_CODES.invalidRequest,
        message: 'Servers of 2026-07-28 send no requests; answer with input_required',
      };
      this.#channel.write(buildError(message.idText ?? '0', error));
    } else if (message.method === 'notifications/tools/list_changed') {
      this.onToolsChanged?.();
      this.#listens.receive(message);
    } else if (!this.#listens.receive(message)) {
      const reason = message.method === 'notifications/message' ? 'unattributed-log' : 'unattributed-notification';
      if (exchange === undefined) this.#options.onDropped?.(reason, message);
    }
  }

  #up(): void {
    if (this.#isFirst) {
      this.#isFirst = false;
      return;
    }
    // A new process: what it opens with decides the era that it keeps.
    void this.discover();
    this.onToolsChanged?.();
  }

  async #describe(): Promise<ServerDescription | Failure> {
    const outcome = await this.#channel.call(discoverRequest(this.#options.clientInfo));
    if (outcome.kind === 'failure') return outcome.failure;
    const description = outcome.kind === 'answer' ? descriptionFrom(outcome.message) : undefined;
    return (
      description ?? refused(502, RPC_CODES.internalError, 'The MCP server no longer speaks 2026-07-28: start it again')
    );
  }
}

/** Several requests share one pipe, and log messages do not say which they belong to: nobody asks for them. */
const withoutLogLevel = (message: Message): Message =>
  editMembers(message, { path: ['params', '_meta'], remove: (key) => key === LOG_LEVEL_KEY });

const INPUT_REQUIRED = Buffer.from('input_required');

/** A reply that seals the state of an answer on its way out. */
class SealingReply extends PassingReply {
  readonly #seal: (answer: Message) => Promise<Message>;

  constructor(inner: Reply, seal: (answer: Message) => Promise<Message>) {
    super(inner);
    this.#seal = seal;
  }

  override settle(outcome: Outcome): void {
    const asks =
      outcome.kind === 'answer' &&
      mayHold(outcome.message, INPUT_REQUIRED) &&
      own(outcome.message.json()['result'], 'resultType') === 'input_required';
    if (!asks) {
      this.inner.settle(outcome);
      return;
    }
    this.#seal(outcome.message).then(
      (message) => this.inner.settle({ ...outcome, message }),
      (error: unknown) => this.inner.settle({ kind: 'failure', failure: stateFailure(error) }),
    );
  }
}

/** A state that cannot be sealed or stored must not travel in the clear. */
const stateFailure = (error: unknown): Failure =>
  refused(500, RPC_CODES.internalError, error instanceof Error ? error.message : 'The state could not be sealed', {
    reason: 'state-unavailable',
  });
