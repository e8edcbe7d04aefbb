import type { HeaderList } from './writer.js';

const START = Buffer.from('event: message\ndata: ');
const END = Buffer.from('\n\n');

/** Headers of every event stream; proxies must neither buffer nor transform it. */
export const SSE_HEADERS: HeaderList = [
  'content-type',
  'text/event-stream',
  'cache-control',
  'no-cache, no-transform',
  'x-accel-buffering',
  'no',
];

/** A comment that keeps idle connections alive. */
export const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');

/**
 * One message as one event. The bytes of a message hold no raw line break, so one `data:` line is enough. The event
 * name is written although it is the default: some clients drop events without it.
 */
export function encodeEvent(bytes: Buffer, eventId?: string): Buffer {
  if (eventId === undefined) return Buffer.concat([START, bytes, END], START.length + bytes.length + END.length);
  return Buffer.concat([Buffer.from(`id: ${eventId}\nevent: message\ndata: `), bytes, END]);
}

/** An event with an id and no data: the place to resume from before anything was sent. */
export const encodePrime = (eventId: string, retryMs: number): Buffer =>
  Buffer.from(`id: ${eventId}\nretry: ${retryMs}\ndata: \n\n`);
