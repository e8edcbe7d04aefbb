import type { Message, Clock } from '@thv/transport';
import type { Deadline, DeadlineWheel } from './deadlines.js';
import type { ResumabilityOptions } from './options.js';

/** Where the events of a resumable stream go while a client is there. */
export interface EventReceiver {
  send(message: Message, eventId: string): void;
  end(): void;
}

interface LoggedEvent {
  readonly seq: number;
  readonly message: Message;
}

/** Finished streams that a session keeps for a client that lost the end. */
const MAX_STREAMS = 64;

/** One stream of one session, with the events that its client may still ask for. */
export class LoggedStream implements Deadline {
  readonly id: string;
  readonly kind: 'get' | 'post';
  due = 0;
  slot = 0;
  finished = false;
  #receiver: EventReceiver | undefined;
  #events: LoggedEvent[] = [];
  #bytes = 0;
  #seq = 0;
  #discarded = 0;
  readonly #log: EventLog;

  constructor(log: EventLog, id: string, kind: 'get' | 'post', receiver: EventReceiver) {
    this.#log = log;
    this.id = id;
    this.kind = kind;
    this.#receiver = receiver;
  }

  /** The id of the event that opens the stream. */
  get primeId(): string {
    return `${this.id}.0`;
  }

  /** Keeps a message, then hands it to the client if one is there. */
  append(message: Message): void {
    const seq = this.keep(message);
    this.#receiver?.send(message, `${this.id}.${seq}`);
  }

  /** Keeps a message and answers its number. */
  keep(message: Message): number {
    const seq = ++this.#seq;
    this.#events.push({ seq, message });
    this.#bytes += message.bytes.length;
    const { maxEvents, maxBytes } = this.#log.settings;
    while (this.#events.length > maxEvents || (this.#bytes > maxBytes && this.#events.length > 1)) {
      const oldest = this.#events.shift();
      this.#bytes -= oldest?.message.bytes.length ?? 0;
      this.#discarded = oldest?.seq ?? this.#discarded;
    }
    return seq;
  }

  /** Nothing follows. */
  finish(): void {
    this.finished = true;
    this.#receiver?.end();
    this.#receiver = undefined;
    this.#log.expireLater(this);
  }

  /** The client is gone; the stream waits for it. */
  detach(receiver: EventReceiver): void {
    if (this.#receiver !== receiver) return;
    this.#receiver = undefined;
    this.#log.expireLater(this);
  }

  /** Gives a client what came after `seq`, then what comes. An earlier client of the stream is sent away. */
  attach(receiver: EventReceiver, seq: number): void {
    this.#receiver?.end();
    this.#receiver = receiver;
    this.#log.keepAlive(this);
    for (const event of this.#events) {
      if (event.seq > seq) receiver.send(event.message, `${this.id}.${event.seq}`);
    }
    if (this.finished) this.finish();
  }

  /** Whether everything after `seq` is still here. */
  has(seq: number): boolean {
    return seq >= this.#discarded && seq <= this.#seq;
  }

  onDue(): void {
    this.#log.forget(this);
  }
}

/** The resumable streams of one session. */
export class EventLog {
  readonly settings: Required<ResumabilityOptions>;
  readonly #clock: Clock;
  readonly #wheel: DeadlineWheel;
  readonly #randomId: () => string;
  readonly #streams = new Map<string, LoggedStream>();
  /** The standalone stream of the session, connected or waiting. */
  standalone: LoggedStream | undefined = undefined;

  constructor(options: {
    settings: Required<ResumabilityOptions>;
    clock: Clock;
    wheel: DeadlineWheel;
    randomId: () => string;
  }) {
    this.settings = options.settings;
    this.#clock = options.clock;
    this.#wheel = options.wheel;
    this.#randomId = options.randomId;
  }

  get size(): number {
    return this.#streams.size;
  }

  open(kind: 'get' | 'post', receiver: EventReceiver): LoggedStream {
    const stream = new LoggedStream(this, `${kind}-${this.#randomId()}`, kind, receiver);
    this.#streams.set(stream.id, stream);
    if (kind === 'get') {
      if (this.standalone !== undefined) this.forget(this.standalone);
      this.standalone = stream;
    }
    if (this.#streams.size > MAX_STREAMS) this.#forgetOldestFinished();
    return stream;
  }

  /** Finds what a `Last-Event-ID` of this session names. */
  find(lastEventId: string): { stream: LoggedStream; seq: number } | { kind: 'get' | 'post' | 'unknown' } {
    const match = /^((get|post)-[\x21-\x7e]+)\.(\d{1,15})$/.exec(lastEventId);
    if (match === null) return { kind: 'unknown' };
    const [, id = '', kind, digits] = match;
    const stream = this.#streams.get(id);
    const seq = Number(digits);
    return stream?.has(seq) === true ? { stream, seq } : { kind: kind === 'get' ? 'get' : 'post' };
  }

  forget(stream: LoggedStream): void {
    this.#wheel.remove(stream);
    this.#streams.delete(stream.id);
    if (this.standalone === stream) this.standalone = undefined;
  }

  expireLater(stream: LoggedStream): void {
    if (!this.#streams.has(stream.id)) return;
    stream.due = this.#clock.now() + this.settings.ttlMs;
    this.#wheel.add(stream);
  }

  keepAlive(stream: LoggedStream): void {
    this.#wheel.remove(stream);
  }

  close(): void {
    for (const stream of this.#streams.values()) this.forget(stream);
  }

  #forgetOldestFinished(): void {
    for (const stream of this.#streams.values()) {
      if (!stream.finished) continue;
      this.forget(stream);
      return;
    }
  }
}
