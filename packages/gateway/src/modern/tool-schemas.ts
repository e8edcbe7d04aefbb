import type { Outcome, Reply } from '@thv/dispatcher';
import { buildRequest, editMembers, systemClock } from '@thv/transport';
import type { Clock, Message, RequestContext } from '@thv/transport';
import { isObject, own, ownMeta } from '../meta.js';
import type { ModernServer } from '../server.js';
import { headerMarks } from './param-headers.js';
import type { HeaderMark } from './param-headers.js';

const MAX_PAGES = 100;
const MAX_TOOLS = 10_000;
/** How long a list counts that the server does not tell changes of. */
const TTL_MS = 60_000;

type Marks = ReadonlyMap<string, readonly HeaderMark[]>;

/**
 * Which arguments of which tools must be mirrored in headers. The list is fetched on the first call and again after a
 * change; until then nothing is known, and nothing is refused for it.
 */
export class ToolSchemas {
  readonly #server: ModernServer;
  readonly #clock: Clock;
  #marks: Marks | undefined;
  #until = 0;
  #loading: Promise<Marks> | undefined;

  constructor(server: ModernServer, clock: Clock = systemClock) {
    this.#server = server;
    this.#clock = clock;
  }

  /** What is known now of a tool; `undefined` when the list has to be fetched first. */
  known(tool: string): readonly HeaderMark[] | undefined {
    if (this.#marks === undefined || this.#clock.now() >= this.#until) return undefined;
    return this.#marks.get(tool) ?? [];
  }

  /** The marks of a tool, from the server where needed. */
  async of(tool: string, context: RequestContext): Promise<readonly HeaderMark[]> {
    this.#loading ??= this.#load(context).finally(() => {
      this.#loading = undefined;
    });
    return (await this.#loading).get(tool) ?? [];
  }

  /** The server's tools may be others now. */
  forget(): void {
    this.#marks = undefined;
  }

  async #load(context: RequestContext): Promise<Marks> {
    const marks = new Map<string, readonly HeaderMark[]>();
    let cursor: unknown;
    let complete = true;
    for (let page = 0; page < MAX_PAGES && marks.size < MAX_TOOLS; page += 1) {
      const result = await this.#page(cursor, context);
      if (result === undefined) {
        complete = page > 0;
        break;
      }
      collect(result, marks);
      cursor = own(result, 'nextCursor');
      if (typeof cursor !== 'string') break;
    }
    // A list that could not be had is asked for again soon.
    this.#until = this.#clock.now() + (complete ? TTL_MS : 1000);
    this.#marks = marks;
    return marks;
  }

  #page(cursor: unknown, context: RequestContext): Promise<unknown> {
    const params = cursor === undefined ? {} : { cursor };
    const set = ownMeta({ name: 'thv', version: '0.0.0' });
    const message = editMembers(buildRequest('tools/list', params), { path: ['params', '_meta'], set });
    return new Promise((resolve) => {
      this.#server.request(message, new ResultReply(resolve), context);
    });
  }
}

function collect(result: unknown, marks: Map<string, readonly HeaderMark[]>): void {
  const tools = own(result, 'tools');
  for (const tool of Array.isArray(tools) ? (tools as unknown[]) : []) {
    const name = own(tool, 'name');
    if (typeof name === 'string' && isObject(tool)) marks.set(name, headerMarks(own(tool, 'inputSchema')));
  }
}

/** Takes the result of a request of our own. */
export class ResultReply implements Reply {
  readonly streams = false;
  readonly open = true;
  readonly bufferedBytes = 0;
  readonly #resolve: (result: unknown) => void;

  constructor(resolve: (result: unknown) => void) {
    this.#resolve = resolve;
  }

  send(_message: Message): boolean {
    return true;
  }

  keepAlive(): void {
    // Nobody waits for a sign of life.
  }

  settle(outcome: Outcome): void {
    const isResult = outcome.kind === 'answer' && !outcome.message.isError;
    this.#resolve(isResult ? own(outcome.message.json(), 'result') : undefined);
  }
}
