import { parseMessage } from '@thv/transport';
import type { Message } from '@thv/transport';
import { paramsOf } from './sessions.js';

/** The token of `notifications/progress` as we give them out: the number of a request; anything else is nobody's. */
export function progressTokenOf(message: Message): number | undefined {
  const params = paramsOf(message);
  const token = Object.hasOwn(params, 'progressToken') ? params['progressToken'] : undefined;
  return typeof token === 'number' ? token : undefined;
}

/**
 * The notification with the client's own token, in the type that the client gave it (`tokenText` is JSON). Everything
 * else keeps its bytes, unless the key stands there twice or in escapes.
 */
export function restoreProgressToken(message: Message, tokenText: string): Message {
  const text = message.bytes.toString('latin1');
  const [found, ...others] = text.matchAll(/"progressToken"[ \t]*:[ \t]*[-+.\dEe]+/g);
  if (found === undefined || others.length > 0) {
    const rest = { ...paramsOf(message) };
    return parseMessage(
      Buffer.from(
        JSON.stringify({ ...message.json(), params: { ...rest, progressToken: JSON.parse(tokenText) as unknown } }),
      ),
    );
  }
  const end = found.index + found[0].length;
  return parseMessage(
    Buffer.concat([
      message.bytes.subarray(0, found.index),
      Buffer.from(`"progressToken":${tokenText}`),
      message.bytes.subarray(end),
    ]),
  );
}
