import type { Failure } from '@thv/dispatcher';
import { missingForAll } from '@thv/mrtr';
import type { ClientCapabilities, InputRequests } from '@thv/mrtr';
import { RPC_CODES } from '@thv/transport';
import type { Message } from '@thv/transport';
import { declaredCapabilities, isObject, mayHold, own } from '../meta.js';

/** The methods whose result may ask for input. */
export const ASKING: ReadonlySet<string | undefined> = new Set(['tools/call', 'prompts/get', 'resources/read']);

const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
const MARKERS = ['"input_required"', '"task"'].map((text) => Buffer.from(text));
/** The same, and escapes that may hide them; for small results, where a call into native code costs more than the look. */
const MARKED = /"input_required"|"task"|\\u00/;
const SMALL_BYTES = 4096;
const KINDS: ReadonlySet<unknown> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list']);

/**
 * Whether a server may answer this request so: it asks only where asking is allowed, and only for what the client
 * declared with this very request. Results that ask for nothing are not parsed.
 */
export function violationOf(request: Message, answer: Message): Failure | undefined {
  if (!isMarked(answer)) return undefined;
  const result = own(answer.json(), 'result');
  const type = own(result, 'resultType');
  if (type === 'task') return taskViolation(request);
  if (type !== 'input_required') return undefined;
  if (!ASKING.has(request.method)) return violation(`asked for input in the answer to ${String(request.method)}`);
  const requests = own(result, 'inputRequests') ?? {};
  if (!isObject(requests) || !Object.values(requests).every(isQuestion)) {
    return violation('asked for input of an unknown kind');
  }
  if (Object.keys(requests).length === 0 && own(result, 'requestState') === undefined) {
    return violation('asked for input and named none');
  }
  const missing = missingForAll(
    requests as unknown as InputRequests,
    declaredCapabilities(request) as ClientCapabilities,
  );
  if (missing === undefined) return undefined;
  // Towards the client we are the server, and the client can declare it next time.
  const message = 'The MCP server needs capabilities that the client did not declare';
  const data = { requiredCapabilities: missing };
  return { reason: 'refused', status: 400, code: RPC_CODES.capabilityRequired, message, data };
}

function isQuestion(entry: unknown): boolean {
  const params = own(entry, 'params');
  return KINDS.has(own(entry, 'method')) && (params === undefined || isObject(params));
}

const isMarked = (answer: Message): boolean =>
  answer.bytes.length <= SMALL_BYTES
    ? MARKED.test(answer.bytes.toString('latin1'))
    : MARKERS.some((marker) => mayHold(answer, marker));

function taskViolation(request: Message): Failure | undefined {
  const extensions = own(declaredCapabilities(request), 'extensions');
  return own(extensions, TASKS_EXTENSION) === undefined
    ? violation('answered with a task, and the client did not declare the extension')
    : undefined;
}

const violation = (what: string): Failure => ({
  reason: 'refused',
  status: 502,
  code: RPC_CODES.internalError,
  message: `The MCP server ${what}`,
  data: { reason: 'server-violation' },
});
