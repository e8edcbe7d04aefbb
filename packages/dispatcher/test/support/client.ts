import { parseMessage } from '@thv/transport';
import type { Message, Principal } from '@thv/transport';
import type { ClientSession, Dispatcher, Outcome, Reply, StreamSink } from '../../src/index.js';

type Json = Record<string, unknown>;

export const message = (json: Json | string): Message =>
  parseMessage(Buffer.from(typeof json === 'string' ? json : JSON.stringify(json)));

const read = (frame: Message): Json => JSON.parse(frame.bytes.toString()) as Json;

/** A reply that writes down what it gets, in order. */
export class RecordingReply implements Reply {
  readonly streams: boolean;
  open = true;
  bufferedBytes = 0;
  accepting = true;
  onDrain?: (() => void) | undefined;
  onGone?: (() => void) | undefined;
  readonly frames: Json[] = [];
  readonly eventIds: (string | undefined)[] = [];
  readonly log: string[] = [];
  outcome: Outcome | undefined;
  settlements = 0;
  keepAlives = 0;
  primed: string | undefined;

  constructor(streams: boolean) {
    this.streams = streams;
  }

  send(frame: Message, eventId?: string): boolean {
    this.frames.push(read(frame));
    this.eventIds.push(eventId);
    this.log.push(`frame ${frame.method ?? 'response'}`);
    return this.accepting;
  }

  keepAlive(): void {
    this.keepAlives++;
  }

  prime(eventId: string): void {
    this.primed = eventId;
  }

  settle(outcome: Outcome): void {
    this.settlements++;
    this.outcome = outcome;
    this.log.push(`settled ${outcome.kind}`);
  }

  get answer(): Json {
    if (this.outcome?.kind !== 'answer') throw new Error(`Expected an answer, got ${JSON.stringify(this.outcome)}`);
    return read(this.outcome.message);
  }

  get failure() {
    if (this.outcome?.kind !== 'failure') throw new Error(`Expected a failure, got ${JSON.stringify(this.outcome)}`);
    return this.outcome.failure;
  }
}

/** A standalone stream that writes down what it gets. */
export class RecordingSink implements StreamSink {
  open = true;
  bufferedBytes = 0;
  accepting = true;
  ended = 0;
  keepAlives = 0;
  primed: string | undefined;
  onDrain?: (() => void) | undefined;
  onGone?: (() => void) | undefined;
  readonly frames: Json[] = [];
  readonly eventIds: (string | undefined)[] = [];

  send(frame: Message, eventId?: string): boolean {
    this.frames.push(read(frame));
    this.eventIds.push(eventId);
    return this.accepting;
  }

  prime(eventId: string): void {
    this.primed = eventId;
  }

  keepAlive(): void {
    this.keepAlives++;
  }

  end(): void {
    this.ended++;
    this.open = false;
  }

  get methods(): unknown[] {
    return this.frames.map((frame) => frame['method']);
  }
}

/** One client of a dispatcher, without HTTP. */
export class TestClient {
  readonly dispatcher: Dispatcher;
  readonly principal: Principal | undefined;
  session: ClientSession | undefined;
  #nextId = 1;

  constructor(dispatcher: Dispatcher, principal?: Principal) {
    this.dispatcher = dispatcher;
    this.principal = principal;
  }

  request(method: string, params: Json = {}, options: { id?: unknown; streams?: boolean } = {}): RecordingReply {
    const reply = new RecordingReply(options.streams ?? true);
    const id = options.id ?? this.#nextId++;
    this.dispatcher.request(message({ jsonrpc: '2.0', id, method, params }), reply, this.origin);
    return reply;
  }

  initialize(params: Json = {}): RecordingReply {
    const reply = new RecordingReply(false);
    const full = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
      ...params,
    };
    const settle = reply.settle.bind(reply);
    reply.settle = (outcome) => {
      if (outcome.kind === 'answer' && outcome.session !== undefined) this.session = outcome.session;
      settle(outcome);
    };
    this.dispatcher.request(
      message({ jsonrpc: '2.0', id: this.#nextId++, method: 'initialize', params: full }),
      reply,
      this.origin,
    );
    return reply;
  }

  notify(method: string, params: Json = {}) {
    return this.dispatcher.notify(message({ jsonrpc: '2.0', method, params }), this.origin);
  }

  respond(json: Json) {
    return this.dispatcher.respond(message({ jsonrpc: '2.0', ...json }), this.origin);
  }

  stream(lastEventId?: string): RecordingSink {
    const sink = new RecordingSink();
    if (this.session === undefined) throw new Error('The client has no session');
    this.dispatcher.openStream(this.session, sink, { lastEventId });
    return sink;
  }

  get origin() {
    return { session: this.session, principal: this.principal };
  }
}
