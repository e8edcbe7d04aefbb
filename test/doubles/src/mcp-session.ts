import { Agent, request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { createSseReader } from './sse-reader.js';
import type { SseReader } from './sse-reader.js';

/** A response whose body has not been read yet. */
export interface OpenResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

/** A response with its body. */
export interface ReadResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON-RPC message of a JSON body, or the last one of an event stream; `undefined` where there is none. */
  readonly message: RpcMessage | undefined;
  /** All messages of an event stream in order; a JSON body counts as one. */
  readonly messages: readonly RpcMessage[];
}

/** A JSON-RPC message as tests look at it. */
export interface RpcMessage {
  readonly jsonrpc?: string;
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Options of one exchange. */
export interface SendOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly signal?: AbortSignal;
  /** Takes the place of the shared keep-alive agent; `false` for a connection of its own. */
  readonly agent?: Agent | false;
}

const shared = new Agent({ keepAlive: true, maxSockets: 512 });

/** Sends one HTTP request and answers as soon as the head is there. No redirect, no retry, no hidden header. */
export function send(url: string | URL, options: SendOptions = {}): Promise<OpenResponse> {
  const { method = options.body === undefined ? 'GET' : 'POST', headers = {}, body, signal, agent = shared } = options;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent, ...(signal === undefined ? {} : { signal }) });
    sent.once('response', (response) => {
      response.on('error', () => {});
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Reads a body to its end and takes the messages out of it. */
export async function readAll(response: OpenResponse): Promise<ReadResponse> {
  const chunks: Buffer[] = [];
  for await (const chunk of response.body) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString('utf8');
  const type = response.headers['content-type'] ?? '';
  let messages: RpcMessage[] = [];
  if (type.startsWith('text/event-stream')) {
    const events = await createSseReader(asChunks(bytes)).rest();
    messages = events.filter(({ data }) => data !== '').map(({ data }) => JSON.parse(data) as RpcMessage);
  } else if (type.startsWith('application/json') && text !== '') {
    const parsed = JSON.parse(text) as RpcMessage | RpcMessage[];
    messages = Array.isArray(parsed) ? parsed : [parsed];
  }
  return { status: response.status, headers: response.headers, text, message: messages.at(-1), messages };
}

async function* asChunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** A plain Streamable HTTP client: it adds the headers of the protocol and nothing else. */
export interface McpSession {
  readonly url: string;
  readonly sessionId: string | undefined;
  /** The answer to `initialize`. */
  readonly initialized: RpcMessage;
  /** Posts a message (an object, or JSON text that is sent as it is). */
  post(message: unknown, options?: SendOptions): Promise<OpenResponse>;
  /** Posts a request under the next id and reads the answer. */
  request(method: string, params?: unknown, options?: SendOptions): Promise<ReadResponse>;
  /** Calls a tool and answers the text of its first content item. Fails on an error. */
  callText(tool: string, args?: unknown, options?: SendOptions): Promise<string>;
  notify(method: string, params?: unknown): Promise<ReadResponse>;
  /** Opens the standalone stream. */
  listen(options?: SendOptions): Promise<OpenResponse & { readonly events: SseReader }>;
  /** Ends the session with DELETE. */
  close(): Promise<ReadResponse>;
}

/** What `openSession` asks for. */
export interface SessionOptions {
  readonly protocolVersion?: string;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly clientName?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Offers JSON alone, so that the answer is no event stream. */
  readonly jsonOnly?: boolean;
  /** False: does not send `notifications/initialized`. */
  readonly sendInitialized?: boolean;
}

/** Initializes a session as a Legacy client does. */
export async function openSession(url: string, options: SessionOptions = {}): Promise<McpSession> {
  const { protocolVersion = '2025-11-25', capabilities = {}, clientName = 'test', headers = {} } = options;
  const usual = {
    'content-type': 'application/json',
    accept: options.jsonOnly === true ? 'application/json' : 'application/json, text/event-stream',
    ...headers,
  };
  let nextId = 1;
  let extra: Record<string, string> = {};
  const post = (message: unknown, { headers: more, ...rest }: SendOptions = {}): Promise<OpenResponse> =>
    send(url, {
      ...rest,
      method: 'POST',
      headers: { ...usual, ...extra, ...more },
      body: typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message),
    });
  const ask = async (method: string, params?: unknown, more?: SendOptions): Promise<ReadResponse> => {
    const id = nextId;
    nextId += 1;
    return readAll(await post({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) }, more));
  };
  const notify = async (method: string, params?: unknown): Promise<ReadResponse> =>
    readAll(await post({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }));

  const answer = await ask('initialize', {
    protocolVersion,
    capabilities,
    clientInfo: { name: clientName, version: '1.0.0' },
  });
  if (answer.message?.result === undefined) {
    throw new Error(`initialize was refused with HTTP ${answer.status}: ${answer.text}`);
  }
  const sessionId = answer.headers['mcp-session-id'] as string | undefined;
  extra = {
    ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    'mcp-protocol-version': String(answer.message.result.protocolVersion),
  };
  if (options.sendInitialized !== false) await notify('notifications/initialized');
  return {
    url,
    sessionId,
    initialized: answer.message,
    post,
    request: ask,
    notify,
    async callText(tool, args = {}, more) {
      const { message, text, status } = await ask('tools/call', { name: tool, arguments: args }, more);
      const [first] = (message?.result?.content ?? []) as { readonly text?: string }[];
      if (first?.text === undefined) throw new Error(`${tool} gave no text: HTTP ${status} ${text}`);
      return first.text;
    },
    async listen(more = {}) {
      const response = await send(url, {
        ...more,
        method: 'GET',
        headers: { accept: 'text/event-stream', ...headers, ...extra, ...more.headers },
        agent: more.agent ?? false,
      });
      return { ...response, events: createSseReader(response.body) };
    },
    close: async () => readAll(await send(url, { method: 'DELETE', headers: { ...headers, ...extra } })),
  };
}
