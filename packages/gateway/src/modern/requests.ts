import { editMembers, isRetry } from '@thv/transport';
import type { Message } from '@thv/transport';
import { isHopKey } from '../meta.js';

const isRoundMember = (key: string): boolean => key === 'inputResponses' || key === 'requestState';

/** A request of 2026-07-28 as an older server reads it: the keys of this hop are gone, everything else keeps its bytes. */
export const toLegacyRequest = (message: Message): Message => {
  const meta = { path: ['params', '_meta'], remove: isHopKey };
  return isRetry(message)
    ? editMembers(message, meta, { path: ['params'], remove: isRoundMember })
    : editMembers(message, meta);
};
