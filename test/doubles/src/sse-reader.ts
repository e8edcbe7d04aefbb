import { StringDecoder } from 'node:string_decoder';

/** One event of a stream, with the bytes it arrived as. */
export interface SseEvent {
  /** `message` where the stream names none, as browsers have it. */
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
  readonly retry: string | undefined;
  /** True when the stream spelled the `event:` line out; some clients need it. */
  readonly isNamed: boolean;
  /** Comment lines before the event, without the colon. */
  readonly comments: readonly string[];
  /** The text between this event and the one before, as received. */
  readonly raw: string;
}

/** Reads events one at a time. */
export interface SseReader extends AsyncIterable<SseEvent> {
  /** The next event; `undefined` at the end of the stream. */
  next(): Promise<SseEvent | undefined>;
  /** The next event as a parsed JSON message. Fails at the end of the stream. */
  message(): Promise<Record<string, unknown>>;
  /** Every event until the stream ends. */
  rest(): Promise<SseEvent[]>;
  /** Comments that no event followed yet. */
  readonly pendingComments: readonly string[];
}

function parseEvent(raw: string): SseEvent {
  const comments: string[] = [];
  const data: string[] = [];
  let event: string | undefined;
  let id: string | undefined;
  let retry: string | undefined;
  for (const line of raw.split(/\r\n|\n|\r/)) {
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (line.startsWith(':')) comments.push(line.slice(1).trim());
    else if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id') id = value;
    else if (field === 'retry') retry = value;
  }
  return { event: event ?? 'message', data: data.join('\n'), id, retry, isNamed: event !== undefined, comments, raw };
}

const hasFields = (raw: string): boolean => /^(?!:|\r|\n)./m.test(raw);

/** Reads Server-Sent Events from the chunks of a response body. */
export function createSseReader(chunks: AsyncIterable<Uint8Array>): SseReader {
  const decoder = new StringDecoder('utf8');
  const source = chunks[Symbol.asyncIterator]();
  let buffer = '';
  let comments: string[] = [];

  function takeBuffered(): SseEvent | undefined {
    for (;;) {
      const end = /\r\n\r\n|\n\n|\r\r/.exec(buffer);
      if (end === null) return undefined;
      const raw = buffer.slice(0, end.index + end[0].length);
      buffer = buffer.slice(raw.length);
      const event = parseEvent(raw);
      if (!hasFields(raw)) {
        comments.push(...event.comments);
        continue;
      }
      const before = comments;
      comments = [];
      return { ...event, comments: [...before, ...event.comments] };
    }
  }

  async function next(): Promise<SseEvent | undefined> {
    for (;;) {
      const event = takeBuffered();
      if (event !== undefined) return event;
      const chunk = await source.next();
      if (chunk.done === true) return undefined;
      buffer += decoder.write(Buffer.from(chunk.value));
    }
  }

  async function* all(): AsyncGenerator<SseEvent> {
    for (let event = await next(); event !== undefined; event = await next()) yield event;
  }

  return {
    next,
    async message() {
      const event = await next();
      if (event === undefined) throw new Error('The stream ended where a message was expected');
      return JSON.parse(event.data) as Record<string, unknown>;
    },
    async rest() {
      const events: SseEvent[] = [];
      for await (const event of all()) events.push(event);
      return events;
    },
    get pendingComments() {
      return comments;
    },
    [Symbol.asyncIterator]: all,
  };
}
