import { createDispatcher } from '@thv/dispatcher';
import type { Dispatcher, Failure, ListenFilter, Listener, Listening, Outcome, Reply } from '@thv/dispatcher';
import { INVALID_STATE } from '@thv/mrtr';
import type { StateBinding, StateCodec } from '@thv/mrtr';
import { RPC_CODES, buildError, spliceMessage, systemClock } from '@thv/transport';
import type { Clock, Connection, ConnectionDown, Message, RequestContext } from '@thv/transport';
import { LOG_LEVEL_KEY, isObject, metaOf, own, paramsOf } from '../meta.js';
import { toLegacyRequest } from '../modern/requests.js';
import { toModernOutcome } from '../modern/results.js';
import { ASKING } from '../modern/violations.js';
import { createSharedLegacyServer } from '../modern/shared-legacy.js';
import { MappedReply, refused } from '../replies.js';
import { isFailure } from '../server.js';
import type { ModernServer, ServerDescription } from '../server.js';
import { Flows } from './flows.js';
import { ParkedCall, isOwnResult } from './parked-call.js';
import { LeasePool } from './pool.js';
import type { LeaseLimits, PoolOptions } from './pool.js';
import type { LeasedProcess } from './process.js';
import { NO_CAPABILITIES, ownerOf, profileOf } from './profile.js';

/** Options of {@link createLeasedServer}. */
export interface LeasedServerOptions {
  /** Makes a connection to a new process, which must not restart by itself. */
  readonly connect: (purpose: 'lease' | 'watch') => Connection | Promise<Connection>;
  readonly codec: StateCodec;
  /** Names this process, so that another one knows that a state is not its own. */
  readonly instance: string;
  /** What states are for. */
  readonly audience: string;
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly channel: PoolOptions['channel'];
  readonly limits?: LeaseLimits;
  readonly randomId: () => string;
  readonly clock?: Clock;
  readonly onWarning?: (text: string) => void;
}

/** A leased server, with its figures. */
export interface LeasedServer extends ModernServer {
  counts(): { readonly busy: number; readonly idle: number; readonly waiting: number; readonly parked: number };
}

interface FlowPayload {
  readonly instance: string;
  readonly call: string;
  readonly round: number;
}

/**
 * Serves clients of 2026-07-28 from a server of the older era that may ask its user: each request has a process for
 * itself, and while its client answers, the call waits there. It is never sent to the server a second time.
 */
export function createLeasedServer(options: LeasedServerOptions): LeasedServer {
  return new PoolServer(options);
}

class PoolServer implements LeasedServer {
  onToolsChanged: (() => void) | undefined;
  readonly #options: LeasedServerOptions;
  readonly #pool: LeasePool;
  readonly #flows: Flows;
  readonly #limits: Required<Pick<LeaseLimits, 'parkTtlMs' | 'maxRounds'>>;
  #description: ServerDescription | undefined;
  #watch: Promise<Dispatcher> | undefined;
  #closed = false;

  constructor(options: LeasedServerOptions) {
    const { limits = {}, clock = systemClock } = options;
    this.#options = options;
    this.#limits = { parkTtlMs: limits.parkTtlMs ?? 600_000, maxRounds: limits.maxRounds ?? 10 };
    this.#pool = new LeasePool({ ...options, limits, clock });
    this.#flows = new Flows(clock, this.#limits.parkTtlMs);
  }

  counts() {
    return { ...this.#pool.counts, parked: this.#flows.parked };
  }

  async discover(): Promise<ServerDescription | Failure> {
    if (this.#description !== undefined) return this.#description;
    const process = await this.#pool.acquire(NO_CAPABILITIES, '');
    if (isFailure(process)) return process;
    this.#description = process.description;
    // Nobody may come for a long time: an idle server has no process.
    this.#pool.dispose(process);
    return process.description;
  }

  request(message: Message, reply: Reply, context: RequestContext): void {
    const work =
      ASKING.has(message.method) && own(paramsOf(message), 'requestState') !== undefined
        ? this.#retry(message, reply, context)
        : this.#begin(message, reply, context);
    work.catch((error: unknown) => {
      this.#options.onWarning?.(`leased request failed: ${String(error)}`);
      const failure = refused(500, RPC_CODES.internalError, 'Internal error', { reason: 'internal' });
      reply.settle({ kind: 'failure', failure });
    });
  }

  /** Changes of lists and resources come from a process of their own: the leased ones come and go. */
  async listen(filter: ListenFilter, listener: Listener, context: RequestContext): Promise<Listening | Failure> {
    if (this.#closed) return refused(503, RPC_CODES.internalError, 'The server is shutting down');
    let watch: Dispatcher;
    try {
      watch = await (this.#watch ??= this.#openWatch());
    } catch (error) {
      const text = `The MCP server could not be started: ${error instanceof Error ? error.message : String(error)}`;
      return refused(503, RPC_CODES.internalError, text, { reason: 'start-failed' });
    }
    return createSharedLegacyServer(watch, { cacheScope: 'private' }).listen(filter, listener, context);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#flows.abandonAll(SHUTDOWN);
    const watch = this.#watch?.then(
      (dispatcher) => dispatcher.close(),
      () => undefined,
    );
    await Promise.all([this.#pool.close(), watch]);
  }

  /** One process reports changes to everybody. When it ends, so do the subscriptions, and the next one has another. */
  #openWatch(): Promise<Dispatcher> {
    const opened: Promise<Dispatcher> = this.#connectWatch(() => {
      if (this.#watch === opened) this.#watch = undefined;
      void opened.then((dispatcher) => dispatcher.close());
    });
    opened.catch(() => {
      if (this.#watch === opened) this.#watch = undefined;
    });
    return opened;
  }

  async #connectWatch(onEnd: () => void): Promise<Dispatcher> {
    const { connect, clientInfo, channel } = this.#options;
    const connection = withEnd(await connect('watch'), onEnd);
    return createDispatcher({ connection, clientInfo, ...channel });
  }

  async #begin(message: Message, reply: Reply, context: RequestContext): Promise<void> {
    const process = await this.#pool.acquire(profileOf(message), ownerOf(context.principal), context.signal);
    if (isFailure(process)) {
      reply.settle({ kind: 'failure', failure: process });
      return;
    }
    this.#description ??= process.description;
    if (!reply.open) {
      this.#pool.release(process);
      reply.settle({ kind: 'cancelled' });
      return;
    }
    const level = own(metaOf(message), LOG_LEVEL_KEY);
    await process.setLevel(typeof level === 'string' ? level : undefined);
    const call: ParkedCall = new ParkedCall(process, message, this.#modern(message, reply, process), {
      id: this.#options.randomId(),
      clock: this.#options.clock ?? systemClock,
      ...this.#limits,
      seal: (round) => this.#seal(call, message, context, round),
      onOver: (over, outcome, clean) => this.#over(over, outcome, clean),
    });
    this.#flows.add(call);
    call.start(toLegacyRequest(message));
  }

  #over(call: ParkedCall, outcome: Outcome, clean: boolean): void {
    this.#flows.end(call, outcome);
    // It may remember what it was told, such as folders; callers that nobody has authenticated are not one person.
    const isTold = call.round > 0 && call.process.owner === '';
    if (clean && !isTold) this.#pool.release(call.process);
    else this.#pool.dispose(call.process);
  }

  #seal(call: ParkedCall, message: Message, context: RequestContext, round: number): Promise<string> {
    const payload = { instance: this.#options.instance, call: call.id, round };
    return this.#options.codec.seal(payload, this.#binding(message, context));
  }

  async #retry(message: Message, reply: Reply, context: RequestContext): Promise<void> {
    const idText = message.idText ?? '0';
    const fail = (failure: Failure): void => reply.settle({ kind: 'failure', failure });
    const params = paramsOf(message);
    const opened = await this.#options.codec.open(own(params, 'requestState'), this.#binding(message, context));
    if (opened.kind === 'rejected') {
      this.#options.onWarning?.(`request state refused: ${opened.reason}`);
      reply.settle({ kind: 'answer', message: buildError(idText, INVALID_STATE) });
      return;
    }
    const flow = opened.payload as unknown as FlowPayload;
    if (flow.instance !== this.#options.instance) {
      fail(ELSEWHERE);
      return;
    }
    const responses = own(params, 'inputResponses') ?? {};
    if (!isObject(responses)) {
      const error = { code: RPC_CODES.invalidParams, message: 'params.inputResponses must be an object' };
      reply.settle({ kind: 'answer', message: buildError(idText, error) });
      return;
    }
    const call = this.#flows.get(flow.call);
    if (call === undefined) this.#answerEnded(flow, message, reply);
    else if (!call.parked) fail(BUSY);
    else if (flow.round !== call.round) this.#answerEarlier(call, message, reply);
    else this.#resume(call, message, reply, responses);
  }

  #resume(call: ParkedCall, message: Message, reply: Reply, responses: Readonly<Record<string, unknown>>): void {
    const bad = call.resume(message, this.#modern(message, reply, call.process), responses);
    if (bad.length === 0) return;
    const text = `The answers to ${bad.map((key) => JSON.stringify(key)).join(', ')} do not have the form of their questions`;
    const error = { code: RPC_CODES.invalidParams, message: text, data: { keys: bad } };
    reply.settle({ kind: 'answer', message: buildError(message.idText ?? '0', error) });
  }

  /** The answers of that round were taken, and the response to them may have been lost. */
  #answerEarlier(call: ParkedCall, message: Message, reply: Reply): void {
    if (!call.repeat(message, reply)) reply.settle({ kind: 'failure', failure: BUSY });
  }

  #answerEnded(flow: FlowPayload, message: Message, reply: Reply): void {
    const ended = this.#flows.ended(flow.call);
    if (ended === undefined) {
      reply.settle({ kind: 'failure', failure: GONE });
      return;
    }
    const { outcome } = ended;
    if (outcome.kind !== 'answer') {
      reply.settle({ kind: 'failure', failure: outcome.kind === 'failure' ? outcome.failure : GONE });
      return;
    }
    const own = spliceMessage(outcome.message, { idText: message.idText ?? '0' });
    const mapped = toModernOutcome({ kind: 'answer', message: own }, message.method ?? '', this.#resultOptions());
    reply.settle(isOwnResult(outcome.message) ? { kind: 'answer', message: own } : mapped);
  }

  /** Results of the server in the words of the newer era; rounds are ours, and have them already. */
  #modern(message: Message, reply: Reply, process: LeasedProcess): Reply {
    const method = message.method ?? '';
    const takesUrls = isObject(own(own(process.profile.capabilities, 'elicitation'), 'url'));
    return new MappedReply(reply, (outcome) =>
      outcome.kind === 'answer' && isOwnResult(outcome.message)
        ? outcome
        : toModernOutcome(outcome, method, { ...this.#resultOptions(), takesUrls }),
    );
  }

  #resultOptions() {
    const info = this.#description?.serverInfo;
    return {
      serverInfo: info === undefined ? undefined : JSON.stringify(info),
      cacheScope: 'private' as const,
      takesUrls: false,
    };
  }

  #binding(message: Message, { principal }: RequestContext): StateBinding {
    const params = paramsOf(message) as unknown as StateBinding['params'];
    return { principal, method: message.method ?? '', params, audience: this.#options.audience };
  }
}

/** A connection that says when it is over for good. */
const withEnd = (connection: Connection, onEnd: () => void): Connection => ({
  get state() {
    return connection.state;
  },
  start: (handlers, options) => {
    const onDown = (down: ConnectionDown): void => {
      handlers.onDown(down);
      if (down.retryAfterMs === undefined) onEnd();
    };
    return connection.start({ ...handlers, onDown }, options);
  },
  send: (message, origin) => connection.send(message, origin),
  drained: () => connection.drained(),
  pause: () => connection.pause(),
  resume: () => connection.resume(),
  close: () => connection.close(),
});

const failureOf = (status: number, message: string, reason: string): Failure => ({
  reason: 'refused',
  status,
  code: RPC_CODES.internalError,
  message,
  data: { reason },
});

const ELSEWHERE = failureOf(
  503,
  'The request waits in another process of this service, which is not reachable from here; it was not run again',
  'other-instance',
);
const BUSY = failureOf(409, 'Another request with this state is being served', 'flow-busy');
const GONE = failureOf(410, 'The request that asked is over; start it again', 'flow-gone');
const SHUTDOWN = failureOf(503, 'The server is shutting down', 'shutdown');
