import { MrtrError } from '../errors.js';
import { canonicalJson, isObject, own } from '../json.js';
import type { ClientCapabilities, InputRequest, InputRequiredResult, JsonObject, JsonValue } from '../types.js';
import { declaredBy } from './declare.js';
import type { InputHandlers } from './declare.js';
import { answerRound } from './handlers.js';

/** A request as the driver sends it; id and progress token are new each time. */
export interface DrivenRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** Sends one request and answers its result; a JSON-RPC error rejects. */
export type SendRequest = (request: DrivenRequest, options: { readonly signal: AbortSignal }) => Promise<JsonObject>;

/** Options of {@link driveRounds}. Times are milliseconds. */
export interface DriveOptions {
  /** Who answers which kind of question; what has no handler is not declared. */
  readonly handlers: InputHandlers;
  /** Rounds of one request. @defaultValue 10 */
  readonly maxRounds?: number;
  /** For all rounds and questions together. @defaultValue 600000 */
  readonly totalTimeoutMs?: number;
  /** For one request. @defaultValue 60000 */
  readonly requestTimeoutMs?: number;
  /** Wait before a round that asked nothing, or sent the user to an address; doubled each time. @defaultValue 250 */
  readonly paceMs?: number;
  /** @defaultValue 30000 */
  readonly maxPaceMs?: number;
  /** Questions that are answered at the same time. @defaultValue 4 */
  readonly concurrency?: number;
  /** Makes progress tokens; absent: none is sent. */
  readonly createProgressToken?: () => string | number;
  /** Whether a result without a type is a fault. @defaultValue false */
  readonly strict?: boolean;
  readonly signal?: AbortSignal;
  /** Waits; rejects with the signal's reason. @defaultValue a timer */
  readonly sleep?: (delayMs: number, signal: AbortSignal) => Promise<void>;
}

/** How a driven request ended. */
export type Driven =
  | { readonly kind: 'complete'; readonly result: JsonObject }
  /** A handler asked for time: the token brings {@link resumeRounds} back here, in another process too. */
  | { readonly kind: 'suspended'; readonly token: string; readonly round: InputRequiredResult };

/** A request that stopped between two rounds. */
export interface SuspendedRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly round: InputRequiredResult;
  readonly count: number;
}

const ASKING: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);
const KNOWN_TYPES: ReadonlySet<unknown> = new Set([undefined, 'complete', 'input_required', 'task']);
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';

/**
 * Sends a request and answers what its server asks, until the result is there. Each retry has the original parameters,
 * the answers to the last round alone, and the state byte for byte; nothing of it reaches another request.
 *
 * @throws MrtrError `ERR_MRTR_PROTOCOL` for a result that the protocol does not allow, `ERR_MRTR_ROUNDS` at the cap,
 * with the last round in `details.round`, `ERR_MRTR_TIMEOUT`, `ERR_MRTR_UNANSWERED` when a question that cannot be
 * declined has no answer; and with what `send` or a handler throws
 * @see https://modelcontextprotocol.io/specification — "Multi round-trip requests", client requirements
 */
export function driveRounds(send: SendRequest, request: DrivenRequest, options: DriveOptions): Promise<Driven> {
  return new Drive(send, request, options).run(undefined);
}

/** Goes on with a suspended request; its round is put to the handlers again. */
export function resumeRounds(send: SendRequest, token: string, options: DriveOptions): Promise<Driven> {
  const suspended = readToken(token);
  return new Drive(send, suspended, options).run(suspended);
}

class Drive {
  readonly #send: SendRequest;
  readonly #method: string;
  readonly #params: JsonObject;
  readonly #options: DriveOptions;
  readonly #capabilities: ClientCapabilities;
  readonly #answered = new Map<string, JsonObject>();

  constructor(send: SendRequest, { method, params }: DrivenRequest, options: DriveOptions) {
    for (const name of [
      'maxRounds',
      'totalTimeoutMs',
      'requestTimeoutMs',
      'paceMs',
      'maxPaceMs',
      'concurrency',
    ] as const) {
      const value = options[name];
      if (value === undefined || (Number.isSafeInteger(value) && value > 0)) continue;
      throw new MrtrError('ERR_MRTR_ARGUMENT', `Expected \`${name}\` to be a positive integer, got \`${value}\``);
    }
    this.#send = send;
    this.#method = method;
    // A copy: whoever changes the caller's object later changes no retry.
    this.#params = structuredClone(params) as JsonObject;
    this.#options = options;
    this.#capabilities = declaredBy(options.handlers);
  }

  async run(suspended: SuspendedRequest | undefined): Promise<Driven> {
    const { totalTimeoutMs = 600_000, signal } = this.#options;
    const total = AbortSignal.timeout(totalTimeoutMs);
    const either = signal === undefined ? total : AbortSignal.any([signal, total]);
    try {
      return await this.#rounds(suspended, either);
    } catch (error) {
      if (total.aborted && signal?.aborted !== true) {
        throw new MrtrError('ERR_MRTR_TIMEOUT', `The request was not complete within ${totalTimeoutMs} ms`, {
          cause: error,
        });
      }
      throw error;
    }
  }

  async #rounds(suspended: SuspendedRequest | undefined, signal: AbortSignal): Promise<Driven> {
    const { maxRounds = 10 } = this.#options;
    let count = suspended?.count ?? 0;
    let answer: JsonObject | InputRequiredResult = suspended?.round ?? (await this.#request({}, signal));
    for (;;) {
      signal.throwIfAborted();
      const round = this.#roundOf(answer as JsonObject);
      if (round === undefined) return { kind: 'complete', result: answer as JsonObject };
      if (count >= maxRounds) {
        const text = `The server asked for input after ${maxRounds} rounds`;
        throw new MrtrError('ERR_MRTR_ROUNDS', text, { details: { round } });
      }
      const answers = await answerRound(round, this.#options, this.#answered, signal);
      if (answers === 'suspend') return { kind: 'suspended', token: this.#token(round, count), round };
      signal.throwIfAborted();
      count += 1;
      if (needsPace(round)) await this.#pace(count, signal);
      answer = await this.#request(retryMembers(round, answers), signal);
    }
  }

  async #request(extra: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const { requestTimeoutMs = 60_000, createProgressToken } = this.#options;
    const meta = own(this.#params, '_meta');
    const token = createProgressToken?.();
    const { progressToken: _old, ...rest } = isObject(meta) ? meta : {};
    const _meta = {
      ...rest,
      [CAPABILITIES]: this.#capabilities,
      ...(token === undefined ? {} : { progressToken: token }),
    };
    const params = { ...structuredClone(this.#params), ...extra, _meta } as unknown as JsonObject;
    const timeout = AbortSignal.timeout(requestTimeoutMs);
    try {
      return await this.#send({ method: this.#method, params }, { signal: AbortSignal.any([signal, timeout]) });
    } catch (error) {
      if (!timeout.aborted || signal.aborted) throw error;
      throw new MrtrError('ERR_MRTR_TIMEOUT', `No answer within ${requestTimeoutMs} ms`, { cause: error });
    }
  }

  #roundOf(result: JsonObject): InputRequiredResult | undefined {
    const type = own(result, 'resultType');
    if (!KNOWN_TYPES.has(type)) throw protocol(`The result is of the unknown type ${JSON.stringify(type)}`);
    if (type === undefined && this.#options.strict === true) throw protocol('The result has no type');
    if (type !== 'input_required') return undefined;
    if (!ASKING.has(this.#method)) throw protocol(`${this.#method} must not ask for input`);
    const requests = own(result, 'inputRequests');
    const state = own(result, 'requestState');
    if (requests !== undefined && !isObject(requests)) throw protocol('The questions are no object');
    if (state !== undefined && typeof state !== 'string') throw protocol('The state is no text');
    if (Object.keys(requests ?? {}).length === 0 && state === undefined) throw protocol('It asks for nothing');
    return result as unknown as InputRequiredResult;
  }

  async #pace(count: number, signal: AbortSignal): Promise<void> {
    const { paceMs = 250, maxPaceMs = 30_000, sleep = wait } = this.#options;
    await sleep(Math.min(maxPaceMs, paceMs * 2 ** (count - 1)), signal);
  }

  #token(round: InputRequiredResult, count: number): string {
    const suspended: SuspendedRequest = { method: this.#method, params: this.#params, round, count };
    return `thvs1.${Buffer.from(canonicalJson(suspended)).toString('base64url')}`;
  }
}

function retryMembers(round: InputRequiredResult, answers: ReadonlyMap<string, JsonObject>): JsonObject {
  return {
    ...(answers.size === 0
      ? {}
      : { inputResponses: Object.fromEntries(answers) as unknown as JsonValue as JsonObject }),
    ...(round.requestState === undefined ? {} : { requestState: round.requestState }),
  };
}

/** A server that asks nothing, or sent the user to an address, is not ready at once. */
function needsPace({ inputRequests = {} }: InputRequiredResult): boolean {
  const asked = Object.values(inputRequests);
  return asked.length === 0 || asked.some((question) => isUrl(question));
}

const isUrl = ({ method, params }: InputRequest): boolean =>
  method === 'elicitation/create' && own(params ?? {}, 'mode') === 'url';

function readToken(token: string): SuspendedRequest {
  try {
    if (!token.startsWith('thvs1.')) throw new Error('another form');
    const value: unknown = JSON.parse(Buffer.from(token.slice(6), 'base64url').toString());
    const round = own(value as object, 'round');
    const isWhole =
      isObject(value) && typeof own(value, 'method') === 'string' && isObject(own(value, 'params')) && isObject(round);
    if (!isWhole || !Number.isSafeInteger(own(value, 'count'))) throw new Error('parts are missing');
    return value as unknown as SuspendedRequest;
  } catch (cause) {
    throw new MrtrError('ERR_MRTR_TOKEN', 'The token of a suspended request cannot be read; send the request again', {
      cause,
    });
  }
}

const protocol = (what: string): MrtrError =>
  new MrtrError('ERR_MRTR_PROTOCOL', `The server broke the protocol: ${what}`);

function wait(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, delayMs);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
