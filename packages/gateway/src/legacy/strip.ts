import { editMembers } from '@thv/transport';
import type { Message } from '@thv/transport';
import { isHopKey } from '../meta.js';

const ADDED: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope']);

/** A result of 2026-07-28 without what older clients do not know. */
export const toLegacyResult = (message: Message): Message =>
  editMembers(
    message,
    { path: ['result', '_meta'], remove: isHopKey },
    { path: ['result'], remove: (key) => ADDED.has(key) },
  );
