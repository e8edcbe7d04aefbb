import { createParser } from 'eventsource-parser';
import type { EventSourceMessage } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KEEP_ALIVE, encodeEvent, encodePrime } from '../src/http/sse.js';

/** What a real parser makes of a stream that arrives in pieces. */
function parse(stream: Buffer, pieceSize: number) {
  const events: EventSourceMessage[] = [];
  const comments: string[] = [];
  let retryMs: number | undefined;
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onComment: (comment) => comments.push(comment),
    onRetry: (ms) => {
      retryMs = ms;
    },
  });
  const decoder = new TextDecoder();
  for (let at = 0; at < stream.length; at += pieceSize) {
    parser.feed(decoder.decode(stream.subarray(at, at + pieceSize), { stream: true }));
  }
  return { events, comments, retryMs };
}

describe('an event stream', () => {
  it('gives back every message, in order, under any chunking', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ value: fc.jsonValue(), id: fc.option(fc.uuid(), { nil: undefined }) }), { maxLength: 6 }),
        fc.integer({ min: 1, max: 40 }),
        (messages, pieceSize) => {
          const texts = messages.map(({ value }) => JSON.stringify({ jsonrpc: '2.0', id: 1, result: value }));
          const stream = Buffer.concat(
            messages.flatMap(({ id }, index) => [encodeEvent(Buffer.from(texts[index] ?? ''), id), KEEP_ALIVE]),
          );
          const { events, comments } = parse(stream, pieceSize);
          expect(events.map(({ data }) => data)).toEqual(texts);
          expect(events.map(({ event }) => event)).toEqual(texts.map(() => 'message'));
          expect(
            events.filter(({ id }, index) => messages[index]?.id !== undefined && id !== messages[index].id),
          ).toEqual([]);
          expect(comments).toHaveLength(messages.length);
        },
      ),
    );
  });

  it('opens with an event that has an id, a time to wait, and no data', () => {
    const { events, retryMs } = parse(encodePrime('post-1.0', 2000), 7);
    expect(events).toEqual([{ id: 'post-1.0', event: undefined, data: '' }]);
    expect(retryMs).toBe(2000);
  });

  it('names the event, which some clients insist on', () => {
    expect(encodeEvent(Buffer.from('{}')).toString()).toBe('event: message\ndata: {}\n\n');
    expect(encodeEvent(Buffer.from('{}'), 'a.1').toString()).toBe('id: a.1\nevent: message\ndata: {}\n\n');
  });
});
