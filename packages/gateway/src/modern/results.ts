import type { Outcome } from '@thv/dispatcher';
import { RPC_CODES, buildError, buildResult, editMembers } from '@thv/transport';
import type { JsonObject, Message } from '@thv/transport';
import { SERVER_INFO_KEY, isObject, own } from '../meta.js';
import { outcomeOfError } from '../replies.js';

/** Results that a client may keep, and that must say for how long. */
export const CACHEABLE: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

const LEGACY_RESOURCE_NOT_FOUND = -32002;
const LEGACY_URL_REQUIRED = -32042;

/** What a rewritten result says beside the server's own words. */
export interface ResultOptions {
  /** JSON text. */
  readonly serverInfo: string | undefined;
  readonly cacheScope: 'public' | 'private';
  /** The client can be sent to an address. */
  readonly takesUrls: boolean;
}

/**
 * An answer of an older server as 2026-07-28 wants it: results get their type, and those that may be kept a time of 0,
 * so that nobody keeps what this server never promised; codes that are gone get their successors.
 */
export function toModernOutcome(outcome: Outcome, method: string, options: ResultOptions): Outcome {
  if (outcome.kind !== 'answer') return outcome;
  const { message } = outcome;
  if (message.isError) return modernError(message, options);
  const cache = CACHEABLE.has(method) ? { ttlMs: '0', cacheScope: JSON.stringify(options.cacheScope) } : {};
  const { serverInfo } = options;
  const result = { path: ['result'], set: { resultType: '"complete"', ...cache } };
  return {
    ...outcome,
    message:
      serverInfo === undefined
        ? editMembers(message, result)
        : editMembers(message, { path: ['result', '_meta'], set: { [SERVER_INFO_KEY]: serverInfo } }, result),
  };
}

function modernError(message: Message, { takesUrls }: ResultOptions): Outcome {
  const error = own(message.json(), 'error');
  const code = own(error, 'code');
  const idText = message.idText ?? '0';
  if (code === LEGACY_RESOURCE_NOT_FOUND) {
    const text = own(error, 'message');
    const data = own(error, 'data');
    const changed = { code: RPC_CODES.invalidParams, message: String(text), ...(data === undefined ? {} : { data }) };
    return { kind: 'answer', message: buildError(idText, changed) };
  }
  if (code === LEGACY_URL_REQUIRED) return { kind: 'answer', message: addressQuestions(idText, error, takesUrls) };
  return outcomeOfError(message);
}

/** "First open this address": a question in the newer era, after which the client sends the request again. */
function addressQuestions(idText: string, error: unknown, takesUrls: boolean): Message {
  const listed = own(own(error, 'data'), 'elicitations');
  const questions = (Array.isArray(listed) ? (listed as unknown[]) : []).filter(
    (item): item is JsonObject => isObject(item) && typeof own(item, 'url') === 'string',
  );
  if (!takesUrls || questions.length === 0) {
    const text = `${String(own(error, 'message'))} (the client did not declare elicitation.url)`;
    return buildError(idText, { code: RPC_CODES.internalError, message: text, data: { reason: 'url-elicitation' } });
  }
  const entries = questions
    .slice(0, 16)
    .map(({ url, message = '' }, index) => [
      `e${index + 1}`,
      { method: 'elicitation/create', params: { mode: 'url', message: String(message), url } },
    ]);
  return buildResult(idText, { resultType: 'input_required', inputRequests: Object.fromEntries(entries) as object });
}
