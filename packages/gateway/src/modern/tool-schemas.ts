import type { Outcome, Reply } from '@thv/dispatcher';
import { buildRequest, editMembers, systemClock } from '@thv/transport';
import type { Clock, JsonObject, Message, RequestContext } from '@thv/transport';
import { isObject, own, ownMeta } from '../meta.js';
import type { ModernServer } from '../server.js';
import { headerMarks } from './param-headers.js';
import type { HeaderMark } from './param-headers.js';

const MAX_PAGES = 100;
const MAX_TOOLS = 10_000;
/** How long a list counts that the server does not tell changes of. */
const TTL_MS = 60_000;

type Marks = ReadonlyMap<string, readonly HeaderMark[]>;

/** The list that clients with the same capabilities see. */
interface Listing {
  marks: Marks | undefined;
  until: number;
  loading: Promise<Marks> | undefined;
}

/** Sets of capabilities that are told apart; there are few in practice. */
const MAX_LISTINGS = 64;

/**
 * Which arguments of which tools must be mirrored in headers. Servers may show other tools for other capabilities, so
 * that there is a list for each. It is fetched on the first call and again after a change.
 */
export class ToolSchemas {
  readonly #server: ModernServer;
  readonly #clock: Clock;
  #listings = new Map<string, Listing>();
  /** The same by the object, which is one for all requests of a client as a rule. */
  #byObject = new WeakMap<JsonObject, Listing>();

  constructor(server: ModernServer, clock: Clock = systemClock) {
    this.#server = server;
    this.#clock = clock;
  }

  /** What is known now of a tool; `undefined` when the list has to be fetched first. */
  known(tool: string, capabilities: JsonObject): readonly HeaderMark[] | undefined {
    const { marks, until } = this.#listingOf(capabilities);
    if (marks === undefined || this.#clock.now() >= until) return undefined;
    return marks.get(tool) ?? [];
  }

  /** The marks of a tool, from the server where needed. */
  async of(tool: string, capabilities: JsonObject, context: RequestContext): Promise<readonly HeaderMark[]> {
    const listing = this.#listingOf(capabilities);
    listing.loading ??= this.#load(listing, capabilities, context).finally(() => {
      listing.loading = undefined;
    });
    return (await listing.loading).get(tool) ?? [];
  }

  /** The server's tools may be others now; a list that is on its way no longer counts. */
  forget(): void {
    this.#listings = new Map();
    this.#byObject = new WeakMap();
  }

  #listingOf(capabilities: JsonObject): Listing {
    const known = this.#byObject.get(capabilities);
    if (known !== undefined) return known;
    const key = JSON.stringify(capabilities);
    let listing = this.#listings.get(key);
    if (listing === undefined) {
      if (this.#listings.size >= MAX_LISTINGS) this.forget();
      listing = { marks: undefined, until: 0, loading: undefined };
      this.#listings.set(key, listing);
    }
    this.#byObject.set(capabilities, listing);
    return listing;
  }

  async #load(listing: Listing, capabilities: JsonObject, context: RequestContext): Promise<Marks> {
    const marks = new Map<string, readonly HeaderMark[]>();
    let cursor: unknown;
    let complete = true;
    for (let page = 0; page < MAX_PAGES && marks.size < MAX_TOOLS; page += 1) {
      const result = await this.#page(cursor, capabilities, context);
      if (result === undefined) {
        complete = page > 0;
        break;
      }
      collect(result, marks);
      cursor = own(result, 'nextCursor');
      if (typeof cursor !== 'string') break;
    }
    // A list that could not be had is asked for again soon.
    listing.until = this.#clock.now() + (complete ? TTL_MS : 1000);
    listing.marks = marks;
    return marks;
  }

  #page(cursor: unknown, capabilities: JsonObject, context: RequestContext): Promise<unknown> {
    const params = cursor === undefined ? {} : { cursor };
    const set = ownMeta({ name: 'thv', version: '0.0.0' }, capabilities);
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
