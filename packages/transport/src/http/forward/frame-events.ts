import { Transform } from 'node:stream';
import type { TransformCallback } from 'node:stream';
import type { FrameFilter } from '../../chain.js';
import type { Message } from '../../message.js';
import { parseMessage } from '../../parse-message.js';
import { encodeSseEvent } from '../../sse/encode.js';

const EVENT_END = /\r\n\r\n|\n\n|\r\r/;

/**
 * Shows each message of an event stream to a filter. Events without data, and those that carry no message, such as
 * `endpoint`, pass as they are. A message that cannot be read is withheld: it was not seen by whoever had to see it.
 */
export function createFrameFilter(filter: FrameFilter, options: { readonly maxEventBytes: number }): Transform {
  let pending: Buffer[] = [];
  let size = 0;

  function events(final: boolean): Buffer {
    // Bytes as latin1 keep their offsets; only whole events are decoded.
    const text = Buffer.concat(pending, size).toString('latin1');
    const out: Buffer[] = [];
    let rest = text;
    for (let match = EVENT_END.exec(rest); match !== null; match = EVENT_END.exec(rest)) {
      out.push(event(rest.slice(0, match.index), match[0]));
      rest = rest.slice(match.index + match[0].length);
    }
    if (final && rest !== '') {
      out.push(event(rest, '\n\n'));
      rest = '';
    }
    pending = rest === '' ? [] : [Buffer.from(rest, 'latin1')];
    size = rest.length;
    return Buffer.concat(out);
  }

  function event(block: string, end: string): Buffer {
    let name = 'message';
    let id: string | undefined;
    let retryMs: number | undefined;
    const data: string[] = [];
    for (const line of block.split(/\r\n|\n|\r/)) {
      const [, field, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (field === 'event') name = value;
      else if (field === 'data') data.push(value);
      else if (field === 'id') id = value;
      else if (field === 'retry' && /^\d+$/.test(value)) retryMs = Number(value);
    }
    const body = Buffer.from(data.join('\n'), 'latin1');
    if (name !== 'message' || body.length === 0) return Buffer.from(block + end, 'latin1');
    const message = filtered(body, filter);
    const more = { ...(id === undefined ? {} : { id }), ...(retryMs === undefined ? {} : { retryMs }) };
    return message === undefined ? Buffer.alloc(0) : encodeSseEvent({ data: message.bytes, ...more });
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, callback: TransformCallback) {
      pending.push(chunk);
      size += chunk.length;
      if (size > options.maxEventBytes)
        return callback(new Error(`An event is larger than ${options.maxEventBytes} bytes`));
      // Without a line break at its end no event can be complete.
      if (!chunk.includes(0x0a) && !chunk.includes(0x0d)) return callback();
      return callback(null, events(false));
    },
    flush(callback: TransformCallback) {
      callback(null, events(true));
    },
  });
}

/** The message as a filter lets it pass; `undefined` for one that is dropped or cannot be read. */
export function filtered(body: Buffer, filter: FrameFilter): Message | undefined {
  try {
    return filter(parseMessage(body));
  } catch {
    return undefined;
  }
}
