import { LATEST_LEGACY_VERSION, LEGACY_VERSIONS } from '@thv/dispatcher';
import type { BackendRequest } from '@thv/dispatcher';
import type { LegacyClient } from '@thv/mrtr/bridge';
import { RPC_CODES, buildError, buildResult, editMembers, idKey, systemClock } from '@thv/transport';
import type {
  Clock,
  Connection,
  ConnectionHandlers,
  ConnectionState,
  JsonObject,
  Message,
  RequestContext,
} from '@thv/transport';
import {
  CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  VERSION_KEY,
  isObject,
  own,
  ownMeta,
  paramsOf,
} from '../meta.js';
import { isFailure } from '../server.js';
import type { ModernServer, ServerDescription } from '../server.js';
import { LegacyCall } from './call.js';
import type { CallSurroundings } from './call.js';
import { Questions } from './questions.js';
import { SessionSubscriptions } from './subscriptions.js';

/** Options of {@link createLegacyFacade}. Times are milliseconds. */
export interface LegacyFacadeOptions {
  /** Rounds of one request. @defaultValue 8 */
  readonly maxRounds?: number;
  /** Wait before a round without questions, doubled each time. @defaultValue 250 */
  readonly paceMs?: number;
  readonly clock?: Clock;
  /** Makes ids for questions that open an address. */
  readonly randomId: () => string;
}

const ELICITATION: ReadonlySet<string> = new Set(['elicitation', 'sampling', 'roots']);
const CAPABILITIES: ReadonlySet<string> = new Set([
  'tools',
  'resources',
  'prompts',
  'completions',
  'logging',
  'experimental',
]);

/**
 * Makes servers of the older era out of one of 2026-07-28: each connection is the server of one session, and costs no
 * process. What the real server asks for becomes requests to the client of that session, on the stream of the request
 * that needs it.
 */
export function createLegacyFacade(
  server: ModernServer,
  options: LegacyFacadeOptions,
): (request: BackendRequest) => Connection {
  return (request) => new VirtualServer(server, request, options);
}

class VirtualServer implements Connection {
  state: ConnectionState = 'idle';
  readonly #server: ModernServer;
  readonly #around: CallSurroundings;
  readonly #calls = new Map<string, LegacyCall>();
  readonly #questions: Questions;
  readonly #subscriptions: SessionSubscriptions;
  #handlers: ConnectionHandlers | undefined;
  #client: LegacyClient = { protocolVersion: LATEST_LEGACY_VERSION, capabilities: {} };
  #meta: Record<string, string> = ownMeta({ name: 'thv', version: '0.0.0' });
  #paused: (readonly [Message, string | undefined])[] | undefined;

  constructor(server: ModernServer, { principal, sessionId }: BackendRequest, options: LegacyFacadeOptions) {
    const { maxRounds = 8, paceMs = 250, clock = systemClock, randomId } = options;
    const context = contextOf(principal, sessionId);
    const send = (message: Message, origin?: string): void => this.#emit(message, origin);
    this.#server = server;
    this.#questions = new Questions(send);
    this.#subscriptions = new SessionSubscriptions(server, context, send, clock);
    this.#around = {
      server,
      context,
      questions: this.#questions,
      client: () => this.#client,
      send,
      createId: randomId,
      clock,
      maxRounds,
      paceMs,
    };
  }

  async start(handlers: ConnectionHandlers): Promise<void> {
    this.#handlers = handlers;
    this.state = 'up';
    handlers.onUp();
  }

  send(message: Message): boolean {
    if (this.state !== 'up') return true;
    if (message.kind === 'response') this.#questions.answer(message);
    else if (message.kind === 'notification') this.#notified(message);
    else this.#requested(message);
    return true;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  pause(): void {
    this.#paused ??= [];
  }

  resume(): void {
    const held = this.#paused ?? [];
    this.#paused = undefined;
    for (const [message, origin] of held) this.#emit(message, origin);
  }

  async close(): Promise<void> {
    if (this.state === 'closed') return;
    this.state = 'closed';
    for (const call of this.#calls.values()) call.cancel();
    this.#questions.close();
    this.#subscriptions.close();
    this.#handlers?.onDown({ reason: 'closed', stderrTail: [] });
  }

  #emit(message: Message, origin?: string): void {
    if (this.state !== 'up') return;
    if (this.#paused !== undefined) this.#paused.push([message, origin]);
    else this.#handlers?.onMessage(message, origin);
  }

  #notified(message: Message): void {
    if (message.method !== 'notifications/cancelled') return;
    const id = own(paramsOf(message), 'requestId');
    if (id !== undefined) this.#calls.get(idKey(JSON.stringify(id)))?.cancel();
  }

  #requested(message: Message): void {
    switch (message.method) {
      case 'initialize':
        void this.#initialize(message);
        return;
      case 'ping':
        this.#answer(message, {});
        return;
      case 'logging/setLevel':
        this.#meta[LOG_LEVEL_KEY] = JSON.stringify(own(paramsOf(message), 'level') ?? 'info');
        this.#answer(message, {});
        return;
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        void this.#subscribe(message);
        return;
      default:
        this.#call(message);
    }
  }

  #call(message: Message): void {
    const key = idKey(message.idText ?? '');
    const request = editMembers(message, { path: ['params', '_meta'], set: this.#meta });
    const call = new LegacyCall(request, this.#around, () => this.#calls.delete(key));
    this.#calls.set(key, call);
    call.start();
  }

  async #initialize(message: Message): Promise<void> {
    const description = await this.#server.discover();
    if (isFailure(description)) {
      const { code, message: text } = description;
      this.#emit(buildError(message.idText ?? '0', { code, message: text }));
      return;
    }
    const params = paramsOf(message);
    const asked = own(params, 'protocolVersion');
    const isKnown = typeof asked === 'string' && LEGACY_VERSIONS.includes(asked);
    const protocolVersion = isKnown ? asked : LATEST_LEGACY_VERSION;
    const capabilities = own(params, 'capabilities');
    this.#client = { protocolVersion, capabilities: (isObject(capabilities) ? capabilities : {}) as never };
    this.#remember(params, this.#client);
    this.#subscriptions.start();
    this.#answer(message, initializeResult(description, protocolVersion));
  }

  /** What each request to the server says of the client. */
  #remember(params: JsonObject, { capabilities, protocolVersion }: LegacyClient): void {
    const clientInfo = own(params, 'clientInfo');
    const asked = Object.entries(capabilities).filter(([key, value]) => ELICITATION.has(key) && isObject(value));
    const declared = Object.fromEntries(
      asked.map(([key, value]) => [key, key === 'elicitation' ? modes(value as JsonObject, protocolVersion) : value]),
    );
    this.#meta = {
      ...this.#meta,
      [VERSION_KEY]: this.#meta[VERSION_KEY] ?? '',
      [CAPABILITIES_KEY]: JSON.stringify(declared),
      ...(isObject(clientInfo) ? { [CLIENT_INFO_KEY]: JSON.stringify(clientInfo) } : {}),
    };
  }

  async #subscribe(message: Message): Promise<void> {
    const uri = own(paramsOf(message), 'uri');
    const idText = message.idText ?? '0';
    if (typeof uri !== 'string' || uri === '') {
      this.#emit(
        buildError(idText, { code: RPC_CODES.invalidParams, message: 'params.uri must be a non-empty string' }),
      );
    } else if (message.method === 'resources/unsubscribe') {
      await this.#subscriptions.unsubscribe(uri);
      this.#answer(message, {});
    } else {
      const problem = await this.#subscriptions.subscribe(uri);
      if (problem === undefined) this.#answer(message, {});
      else if (problem === 'refused') {
        const text = `The MCP server does not report changes of ${uri}`;
        this.#emit(buildError(idText, { code: RPC_CODES.invalidParams, message: text }));
      } else {
        this.#emit(buildError(idText, { code: problem.code, message: problem.message }));
      }
    }
  }

  #answer(message: Message, result: unknown): void {
    this.#emit(buildResult(message.idText ?? '0', result));
  }
}

function initializeResult(description: ServerDescription, protocolVersion: string) {
  const { capabilities, serverInfo = { name: 'unknown', version: '0.0.0' }, instructions } = description;
  const kept = Object.entries(capabilities).filter(([key]) => CAPABILITIES.has(key));
  return {
    protocolVersion,
    capabilities: Object.fromEntries(kept),
    serverInfo,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** A client before modes existed can be asked with a form. */
const modes = (declared: JsonObject, protocolVersion: string): JsonObject =>
  protocolVersion < '2025-11-25' || Object.keys(declared).length === 0 ? { form: {} } : declared;

/** A request of a session, for a server that looks at who asks. */
function contextOf(principal: RequestContext['principal'], sessionId: string): RequestContext {
  return {
    principal,
    sessionId,
    headers: {},
    httpMethod: 'POST',
    path: '',
    remoteAddress: undefined,
    message: undefined,
    signal: new AbortController().signal,
    values: new Map(),
  };
}
