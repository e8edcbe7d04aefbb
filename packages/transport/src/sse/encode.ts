import { requireInteger } from '../arguments.js';
import { TransportError } from '../errors.js';

/** One event of an event stream. */
export interface SseEvent {
  /** @defaultValue 'message', and written all the same, since some clients drop events without a name */
  readonly event?: string;
  /** Text or its UTF-8; several lines become several `data:` lines. */
  readonly data: string | Buffer;
  /** What a client sends as `Last-Event-ID` when it comes back. */
  readonly id?: string;
  /** Milliseconds after which a client comes back. */
  readonly retryMs?: number;
}

/** Headers of every event stream; what lies between must neither keep nor change it. */
export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

const END = Buffer.from('\n\n');

/**
 * The bytes of one event.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT` for a line break in `event` or `id`, a NUL in `id`, or a `retryMs`
 * that is no whole number.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function encodeSseEvent({ event = 'message', data, id, retryMs }: SseEvent): Buffer {
  let head = id === undefined ? '' : `id: ${checkField('id', id)}\n`;
  if (retryMs !== undefined) head += `retry: ${requireInteger('retryMs', retryMs, 0)}\n`;
  head += `event: ${checkField('event', event)}\ndata: `;
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  return Buffer.concat([Buffer.from(head), hasBreak(bytes) ? onSeveralLines(bytes) : bytes, END]);
}

/** The bytes of a comment, which clients ignore: it keeps an idle connection open. */
export function encodeSseComment(text: string): Buffer {
  return Buffer.from(
    `${text
      .split(/\r\n|\r|\n/)
      .map((line) => `: ${line}`)
      .join('\n')}\n\n`,
  );
}

const hasBreak = (bytes: Buffer): boolean => bytes.includes(0x0a) || bytes.includes(0x0d);

const onSeveralLines = (bytes: Buffer): Buffer =>
  Buffer.from(bytes.toString('latin1').replaceAll(/\r\n|\r|\n/g, '\ndata: '), 'latin1');

function checkField(name: string, value: string): string {
  if (!/[\r\n\0]/.test(value)) return value;
  throw new TransportError(
    'ERR_TRANSPORT_ARGUMENT',
    `Expected \`${name}\` to hold no line break and no NUL, got \`${JSON.stringify(value)}\` (string)`,
  );
}
