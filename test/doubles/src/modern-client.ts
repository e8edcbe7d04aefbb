import { readAll, send } from './mcp-session.js';
import type { OpenResponse, ReadResponse, SendOptions } from './mcp-session.js';
import { createSseReader } from './sse-reader.js';
import type { SseReader } from './sse-reader.js';

const META = 'io.modelcontextprotocol/';
const VERSION = '2026-07-28';
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

/** How a request of 2026-07-28 is made up; whatever is given replaces what would be right. */
export interface ModernOptions extends SendOptions {
  /** @defaultValue the next number */
  readonly id?: string | number | null;
  readonly capabilities?: unknown;
  readonly version?: unknown;
  /** Further members of `_meta`; a member that is `undefined` is left out, also one of the envelope. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** A bearer token. */
  readonly token?: string;
  /** A header that is `undefined` is left out. */
  readonly mirror?: Readonly<Record<string, string | undefined>>;
}

/** Params of a request; the envelope is added to its `_meta`. */
export type ModernParams = Readonly<Record<string, unknown>>;

let lastId = 0;

/** The body and the headers of a request. */
export function modernRequest(method: string, params: ModernParams = {}, options: ModernOptions = {}) {
  const { id = (lastId += 1), capabilities = {}, version = VERSION, meta = {}, mirror = {}, token } = options;
  const envelope = {
    [`${META}protocolVersion`]: version,
    [`${META}clientInfo`]: { name: 'modern-double', version: '1.0.0' },
    [`${META}clientCapabilities`]: capabilities,
  };
  const message = { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...envelope, ...meta } } };
  const name = params[NAMED.get(method) ?? ''];
  const headers: Record<string, string | undefined> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...options.headers,
    ...mirror,
  };
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  return { body: JSON.stringify(message), headers: sent as Record<string, string> };
}

/** Sends a request and reads the answer to its end. */
export async function askModern(
  url: string,
  method: string,
  params?: ModernParams,
  options: ModernOptions = {},
): Promise<ReadResponse> {
  return readAll(await openModern(url, method, params, options));
}

/** Sends a request and answers as soon as the head of the response is there. */
export async function openModern(
  url: string,
  method: string,
  params?: ModernParams,
  options: ModernOptions = {},
): Promise<OpenResponse & { readonly events: SseReader }> {
  const { signal, agent } = options;
  const opened = await send(url, {
    ...modernRequest(method, params, options),
    ...(signal === undefined ? {} : { signal }),
    ...(agent === undefined ? {} : { agent }),
  });
  return { ...opened, events: createSseReader(opened.body) };
}

/** What a result asks for. */
export interface Round {
  readonly inputRequests?: Readonly<Record<string, { readonly method: string; readonly params?: ModernParams }>>;
  readonly requestState?: string;
}

/** What `answerRounds` went through. */
export interface Rounds {
  readonly rounds: readonly Round[];
  /** The answer that asks for nothing more. */
  readonly last: ReadResponse;
}

/**
 * Sends a request and answers round after round, as the specification has it: new id, the answers of this round alone,
 * the state as it came. `answer` is given the key, the question and the number of the round, which starts at 1; a key
 * for which it answers `undefined` is left out.
 */
export async function answerRounds(
  url: string,
  method: string,
  params: ModernParams,
  answer: (key: string, method: string, round: number) => unknown,
  options: ModernOptions = {},
): Promise<Rounds> {
  const rounds: Round[] = [];
  let more: ModernParams = {};
  for (;;) {
    const last = await askModern(url, method, { ...params, ...more }, options);
    const result = last.message?.result as (Round & { readonly resultType?: string }) | undefined;
    if (result?.resultType !== 'input_required' || rounds.length >= 20) return { rounds, last };
    rounds.push(result);
    const answers = Object.entries(result.inputRequests ?? {})
      .map(([key, question]) => [key, answer(key, question.method, rounds.length)] as const)
      .filter(([, value]) => value !== undefined);
    more = {
      ...(result.inputRequests === undefined ? {} : { inputResponses: Object.fromEntries(answers) }),
      ...(result.requestState === undefined ? {} : { requestState: result.requestState }),
    };
  }
}

/** The text of the first content item of a tool's answer; fails where there is none. */
export function textOf(answer: ReadResponse): string {
  const [content] = (answer.message?.result?.['content'] ?? []) as readonly { readonly text?: string }[];
  if (content?.text === undefined) throw new Error(`No text in ${answer.status} ${answer.text.slice(0, 1000)}`);
  return content.text;
}
