import { idKey } from '@thv/transport';
import type { Message } from '@thv/transport';
import { paramsOf } from './sessions.js';

/**
 * The canonical key of the request that `notifications/cancelled` names, with its JSON type, so that `1` and `"1"`
 * stay two requests; `undefined` when it names none.
 */
export function cancelledKey(message: Message): string | undefined {
  const params = paramsOf(message);
  const id = Object.hasOwn(params, 'requestId') ? params['requestId'] : undefined;
  if (typeof id === 'string') return idKey(JSON.stringify(id));
  if (typeof id !== 'number') return undefined;
  if (Number.isSafeInteger(id)) return idKey(String(id));
  // Above 2^53 the parsed number has lost digits; the text has not.
  const text = /"requestId"\s*:\s*(-?\d+)\s*[,}]/.exec(message.bytes.toString('utf8'))?.[1];
  return text === undefined ? undefined : idKey(text);
}
