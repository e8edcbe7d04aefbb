import type { Outcome, Reply } from '@thv/dispatcher';
import { LEGACY_VERSIONS } from '@thv/dispatcher';
import type { ModernEdge } from '@thv/dispatcher/http';
import { INVALID_STATE } from '@thv/mrtr';
import { MODERN_VERSION, RPC_CODES, buildResult, isRetry, stringParam } from '@thv/transport';
import type { JsonObject, Message, RequestContext } from '@thv/transport';
import { LOG_LEVEL_KEY, SERVER_INFO_KEY, declaredCapabilities, isObject, metaOf, own, paramsOf } from '../meta.js';
import { FAULT, MappedReply, outcomeOfError, refused } from '../replies.js';
import { isFailure } from '../server.js';
import type { ModernServer, ServerDescription } from '../server.js';
import { ListenStream, readFilter } from './listen-stream.js';
import { checkParamHeaders } from './param-headers.js';
import type { HeaderMark } from './param-headers.js';
import { ToolSchemas } from './tool-schemas.js';
import { violationOf } from './violations.js';

/** What the edge of the newer era may be told. */
export interface ModernEdgeOptions {
  /** Versions of the older era that this endpoint serves as well. @defaultValue all that are known */
  readonly legacyVersions?: readonly string[];
  /** How long clients may keep what `server/discover` says. Milliseconds. @defaultValue 60000 */
  readonly discoverTtlMs?: number;
  /** Comments on idle subscriptions. @defaultValue 15000 */
  readonly keepAliveMs?: number;
  /** Whether what is listed depends on who asks. @defaultValue false */
  readonly isPrivate?: boolean;
}

/** Methods of earlier revisions that 2026-07-28 does not have. */
const REMOVED: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/get',
  'tasks/list',
  'tasks/cancel',
  'tasks/result',
]);
const LOG_LEVELS: ReadonlySet<unknown> = new Set([
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]);
const INPUT_REQUIRING: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);
const CAPABILITIES_GONE: ReadonlySet<string> = new Set(['tasks']);

/** The edge, with a way to end its subscriptions. */
export interface OpenModernEdge extends ModernEdge {
  /** Ends every subscription with its last result. */
  endSubscriptions(): void;
}

/** Serves requests of 2026-07-28 from a server: what the edge itself knows is answered or refused here. */
export function createModernEdge(server: ModernServer, options: ModernEdgeOptions = {}): OpenModernEdge {
  return new ServerEdge(server, options);
}

class ServerEdge implements OpenModernEdge {
  readonly supportedVersions: readonly string[];
  readonly #server: ModernServer;
  readonly #options: ModernEdgeOptions;
  readonly #schemas: ToolSchemas;
  readonly #streams = new Set<ListenStream>();
  #serverInfo: string | undefined;

  constructor(server: ModernServer, options: ModernEdgeOptions) {
    this.#server = server;
    this.#options = options;
    this.#schemas = new ToolSchemas(server);
    server.onToolsChanged = () => this.#schemas.forget();
    this.supportedVersions = [MODERN_VERSION, ...(options.legacyVersions ?? LEGACY_VERSIONS).toReversed()];
  }

  request(message: Message, reply: Reply, context: RequestContext): void {
    const method = message.method ?? '';
    const problem = REMOVED.has(method)
      ? refused(404, RPC_CODES.methodNotFound, 'Method not found')
      : (badLogLevel(message) ?? badRetry(message));
    if (problem !== undefined) reply.settle({ kind: 'failure', failure: problem });
    else if (method === 'server/discover')
      this.#discover(message, reply, context).catch(() => reply.settle({ kind: 'failure', failure: FAULT }));
    else if (method === 'subscriptions/listen') this.#listen(message, reply, context);
    else if (method === 'tools/call') this.#call(message, reply, context);
    else this.#forward(message, reply, context);
  }

  endSubscriptions(): void {
    for (const stream of this.#streams) stream.end(true);
  }

  #forward(message: Message, reply: Reply, context: RequestContext): void {
    this.#server.request(message, new MappedReply(reply, (outcome) => checked(message, outcome)), context);
  }

  #call(message: Message, reply: Reply, context: RequestContext): void {
    const name = stringParam(message, 'name');
    if (name === undefined) {
      this.#forward(message, reply, context);
      return;
    }
    const capabilities = declaredCapabilities(message);
    const marks = this.#schemas.known(name, capabilities);
    if (marks !== undefined) this.#callChecked(message, reply, context, marks);
    else {
      void this.#schemas.of(name, capabilities, context).then((fetched) => {
        if (reply.open) this.#callChecked(message, reply, context, fetched);
        else reply.settle({ kind: 'cancelled' });
      });
    }
  }

  #callChecked(message: Message, reply: Reply, context: RequestContext, marks: readonly HeaderMark[]): void {
    const problem = checkParamHeaders(message, marks, (name) => {
      const value = context.headers[name];
      return typeof value === 'string' ? value : value?.join(', ');
    });
    if (problem === undefined) {
      this.#forward(message, reply, context);
      return;
    }
    const failure = refused(400, RPC_CODES.headerMismatch, problem.message, problem.data);
    reply.settle({ kind: 'failure', failure });
  }

  async #discover(message: Message, reply: Reply, context: RequestContext): Promise<void> {
    const description = await this.#server.discover(context);
    if (isFailure(description)) {
      reply.settle({ kind: 'failure', failure: description });
      return;
    }
    const { discoverTtlMs = 60_000, isPrivate = false } = this.#options;
    const result = {
      resultType: 'complete',
      supportedVersions: this.supportedVersions,
      capabilities: servedOf(description.capabilities),
      ...(description.instructions === undefined ? {} : { instructions: description.instructions }),
      ttlMs: discoverTtlMs,
      cacheScope: isPrivate ? 'private' : 'public',
      ...this.#metaFor(description),
    };
    reply.settle({ kind: 'answer', message: buildResult(message.idText ?? '0', result) });
  }

  #metaFor({ serverInfo }: ServerDescription): { readonly _meta?: JsonObject } {
    if (serverInfo === undefined) return {};
    this.#serverInfo = JSON.stringify(serverInfo);
    return { _meta: { [SERVER_INFO_KEY]: serverInfo } };
  }

  #listen(message: Message, reply: Reply, context: RequestContext): void {
    const filter = readFilter(message);
    const problem =
      typeof filter === 'string'
        ? filter
        : reply.streams
          ? undefined
          : 'subscriptions/listen needs Accept: text/event-stream';
    if (problem !== undefined || typeof filter === 'string') {
      const failure = refused(400, RPC_CODES.invalidParams, problem ?? 'bad filter');
      reply.settle({ kind: 'failure', failure });
      return;
    }
    const stream: ListenStream = new ListenStream(message, reply, {
      serverInfo: () => this.#serverInfo,
      keepAliveMs: this.#options.keepAliveMs ?? 15_000,
      onOver: () => this.#streams.delete(stream),
    });
    this.#streams.add(stream);
    void stream.open(this.#server, filter, context);
  }
}

function checked(request: Message, outcome: Outcome): Outcome {
  if (outcome.kind !== 'answer') return outcome;
  if (outcome.message.isError) return outcomeOfError(outcome.message);
  const failure = violationOf(request, outcome.message);
  return failure === undefined ? outcome : { kind: 'failure', failure };
}

function badLogLevel(message: Message) {
  const level = own(metaOf(message), LOG_LEVEL_KEY);
  if (level === undefined || LOG_LEVELS.has(level)) return undefined;
  return refused(400, RPC_CODES.invalidParams, `_meta["${LOG_LEVEL_KEY}"] is no log level: ${JSON.stringify(level)}`);
}

/** A retry whose members have the wrong form never reaches a server. */
function badRetry(message: Message) {
  if (!INPUT_REQUIRING.has(message.method ?? '') || !isRetry(message)) return undefined;
  const params = paramsOf(message);
  if (Object.hasOwn(params, 'inputResponses') && !isObject(params['inputResponses'])) {
    return refused(400, RPC_CODES.invalidParams, 'params.inputResponses must be an object');
  }
  if (Object.hasOwn(params, 'requestState') && typeof params['requestState'] !== 'string') {
    return refused(400, RPC_CODES.invalidParams, 'params.requestState must be a string', INVALID_STATE.data);
  }
  return undefined;
}

/** Capabilities that still mean something to a client of the newer era. */
function servedOf(capabilities: JsonObject): JsonObject {
  const entries = Object.entries(capabilities).filter(([key, value]) => !CAPABILITIES_GONE.has(key) && isObject(value));
  return Object.fromEntries(entries);
}
