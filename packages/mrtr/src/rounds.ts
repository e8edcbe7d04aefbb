import { INVALID_RESPONSES, readAnswers } from './answers.js';
import type { Answer, Answers } from './answers.js';
import { missingCapabilityError } from './capabilities.js';
import { MrtrError } from './errors.js';
import { admitAsks, inputRequired } from './input-required.js';
import type { Asks } from './input-required.js';
import { isObject, own } from './json.js';
import { INVALID_STATE } from './state/codec.js';
import type { FlowPosition, OpenedState, StateBinding, StateCodec, StatePrincipal } from './state/codec.js';
import { Expiring } from './state/store.js';
import type { ReplayGuard } from './state/store.js';
import type { ClientCapabilities, InputRequiringMethod, JsonObject } from './types.js';

/** Who asks, and for what. */
export interface RoundsContext {
  /** @defaultValue 'tools/call' */
  readonly method?: InputRequiringMethod;
  /** What the client declared with this very request. */
  readonly capabilities: ClientCapabilities | undefined;
  /** Who was authenticated; `undefined` for an anonymous caller. */
  readonly principal?: StatePrincipal | undefined;
}

/** What a server sends back. */
export type Served =
  | { readonly kind: 'result'; readonly result: JsonObject }
  /** A JSON-RPC error, with the HTTP status that goes with it. */
  | {
      readonly kind: 'error';
      readonly status: number;
      readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
    };

/** Questions that are open, to be returned by the handler. */
export interface OpenRound {
  readonly asks: Asks;
}

/** What came of questions: all are answered, or the handler returns the round. */
export type Asked<Questions extends Asks> =
  | { readonly pending: true; readonly round: OpenRound }
  | { readonly pending: false; readonly answers: SettledAnswers<Questions> };

/** Answers among which none is invalid; only optional questions can be missing. */
export type SettledAnswers<Questions extends Asks> = {
  readonly [Key in keyof Questions]: Exclude<Answers<Questions>[Key], { readonly kind: 'invalid' }>;
};

/** One request on its way through the rounds of its flow. */
export interface Flow {
  /** Parameters of the request, without state and answers. */
  readonly params: JsonObject;
  readonly principal: StatePrincipal | undefined;
  /** From 1. */
  readonly round: number;
  /** Answers of this round and of all before, or the round that is still to be asked. */
  ask<const Questions extends Asks>(questions: Questions): Asked<Questions>;
  /**
   * Call it right before what must not happen twice. It answers once for each flow, whoever sends a state again; the
   * second caller's request ends with an error.
   */
  commitOnce(): Promise<void>;
}

/** Options of {@link rounds}. */
export interface RoundsOptions {
  readonly codec: StateCodec;
  /** Names the tool, prompt or resource: a state of another one does not open. */
  readonly audience: string;
  /** Rounds of one flow. @defaultValue 10 */
  readonly maxRounds?: number;
  /** Tells replays for `commitOnce`; share it among processes. */
  readonly guard?: ReplayGuard;
  /** Milliseconds that a result is kept for a client that sends its last state again; 0 keeps none. @defaultValue 0 */
  readonly keepResultsMs?: number;
  /**
   * Runs with every request of a flow from its beginning, and gets further each time. Up to `commitOnce` it must only
   * look at parameters and answers.
   */
  readonly handler: (flow: Flow) => Promise<JsonObject | OpenRound> | JsonObject | OpenRound;
}

/** Serves one request of a flow. */
export type RoundsServer = (params: JsonObject, context: RoundsContext) => Promise<Served>;

interface Payload {
  /** Answers of the rounds before, by key. */
  readonly a: Readonly<Record<string, JsonObject>>;
  /** Keys of the last round. */
  readonly k: readonly string[];
}

const DONE_ALREADY = {
  code: -32603,
  message: 'The request was carried out already',
  data: { reason: 'already-committed' },
};

/**
 * Makes a server of a handler that asks: the answers of every round are kept in the sealed state, those that are
 * missing or do not fit are asked again, and a client that cannot be asked gets -32021.
 *
 * @throws MrtrError `ERR_MRTR_ARGUMENT`
 * @example
 * const server = rounds({ codec, audience: 'rename', handler: (flow) => {
 *   const asked = flow.ask({ name: ask.form('New name?', { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }) });
 *   if (asked.pending) return asked.round;
 *   const { name } = asked.answers;
 *   return { content: [{ type: 'text', text: name.kind === 'accepted' ? name.content.name : 'not renamed' }] };
 * } });
 */
export function rounds(options: RoundsOptions): RoundsServer {
  const { maxRounds = 10, keepResultsMs = 0 } = options;
  for (const [name, value, least] of [
    ['maxRounds', maxRounds, 1],
    ['keepResultsMs', keepResultsMs, 0],
  ] as const) {
    if (Number.isSafeInteger(value) && value >= least) continue;
    throw new MrtrError(
      'ERR_MRTR_ARGUMENT',
      `Expected \`${name}\` to be an integer of at least ${least}, got \`${value}\``,
    );
  }
  const results = new Expiring<Served>({ maxEntries: 1000 });
  return async (params, context) => {
    const request = new RoundRequest(options, params, context);
    const opened = await request.open();
    if ('kind' in opened && opened.kind === 'error') return opened;
    const id = opened.state?.id;
    const known = id === undefined ? undefined : results.get(id);
    if (known !== undefined) return known;
    const served = await request.run(opened, maxRounds);
    const isFinal = served.kind === 'result' && own(served.result, 'resultType') !== 'input_required';
    if (isFinal && id !== undefined && keepResultsMs > 0) results.set(id, served, keepResultsMs);
    return served;
  };
}

interface Opened {
  readonly kind?: undefined;
  readonly state: OpenedState | undefined;
  readonly answers: Readonly<Record<string, JsonObject>>;
}

class RoundRequest {
  readonly #options: RoundsOptions;
  readonly #params: JsonObject;
  readonly #context: RoundsContext;
  readonly #binding: StateBinding;

  constructor(options: RoundsOptions, params: JsonObject, context: RoundsContext) {
    this.#options = options;
    this.#params = params;
    this.#context = context;
    const method = context.method ?? 'tools/call';
    this.#binding = { principal: context.principal, method, params, audience: options.audience };
  }

  async open(): Promise<Opened | Extract<Served, { kind: 'error' }>> {
    const token = own(this.#params, 'requestState');
    const given = own(this.#params, 'inputResponses');
    if (given !== undefined && !isObject(given)) return fail(200, INVALID_RESPONSES);
    if (token === undefined) return { state: undefined, answers: {} };
    const opened = await this.#options.codec.open(token, this.#binding);
    if (opened.kind === 'rejected') return fail(200, INVALID_STATE);
    const payload = opened.payload as unknown as Payload;
    const fresh = payload.k.flatMap((key) => {
      const value = given === undefined ? undefined : own(given, key);
      return isObject(value) ? [[key, value] as const] : [];
    });
    return { state: opened, answers: { ...payload.a, ...Object.fromEntries(fresh) } };
  }

  async run({ state, answers }: Opened, maxRounds: number): Promise<Served> {
    const round = (state?.round ?? 0) + 1;
    try {
      const outcome = await this.#options.handler(this.#flow(round, answers, state));
      if (!isRound(outcome)) return { kind: 'result', result: { resultType: 'complete', ...outcome } };
      if (round > maxRounds) return this.#tooMany(maxRounds);
      return await this.#ask(outcome, answers, state, round);
    } catch (error) {
      if (error instanceof AlreadyCommitted) return fail(200, DONE_ALREADY);
      if (MrtrError.is(error)) {
        return fail(200, { code: -32603, message: error.message, data: { reason: error.code } });
      }
      throw error;
    }
  }

  #flow(round: number, answers: Readonly<Record<string, JsonObject>>, state: OpenedState | undefined): Flow {
    const { _meta, inputResponses: _responses, requestState: _state, ...params } = this.#params;
    return {
      params,
      principal: this.#context.principal,
      round,
      ask: (questions) => this.#asked(questions, answers),
      commitOnce: async () => {
        const { guard } = this.#options;
        if (guard === undefined || state === undefined) return;
        const ttlMs = Math.max(1, state.flowExpiresAt - state.issuedAt);
        if ((await guard.claim(state.flow, ttlMs)) === 'seen') throw new AlreadyCommitted();
      },
    };
  }

  #asked<Questions extends Asks>(questions: Questions, raw: Readonly<Record<string, JsonObject>>): Asked<Questions> {
    const { asks } = admitAsks(questions, this.#context.capabilities);
    const answers = readAnswers(raw, questions) as Readonly<Record<string, Answer>>;
    const open = Object.entries(asks).flatMap(([key, question]) => {
      const answer = answers[key];
      if (answer?.kind === 'missing') return [[key, question] as const];
      return answer?.kind === 'invalid' ? [[key, again(question, answer.problems)] as const] : [];
    });
    return open.length > 0
      ? { pending: true, round: { asks: Object.fromEntries(open) } }
      : { pending: false, answers: answers as unknown as SettledAnswers<Questions> };
  }

  async #ask(
    { asks }: OpenRound,
    answers: Readonly<Record<string, JsonObject>>,
    state: OpenedState | undefined,
    round: number,
  ): Promise<Served> {
    const { missing } = admitAsks(asks, this.#context.capabilities);
    if (missing !== undefined) return fail(400, missingCapabilityError(missing));
    const open = new Set(Object.keys(asks));
    const kept = Object.fromEntries(Object.entries(answers).filter(([key]) => !open.has(key)));
    const position: FlowPosition | undefined =
      state === undefined ? undefined : { flow: state.flow, round, flowExpiresAt: state.flowExpiresAt };
    const payload = { a: kept, k: [...open] };
    const token = await this.#options.codec.seal(payload, this.#binding, position);
    return { kind: 'result', result: inputRequired(asks, token) as unknown as JsonObject };
  }

  /** A tool says itself that it was asked too often, so that a model can read it. */
  #tooMany(maxRounds: number): Served {
    const message = `The request was not complete after ${maxRounds} rounds of questions`;
    if (this.#binding.method !== 'tools/call') {
      return fail(200, { code: -32603, message, data: { reason: 'too-many-rounds' } });
    }
    const result = { resultType: 'complete', content: [{ type: 'text', text: message }], isError: true };
    return { kind: 'result', result };
  }
}

class AlreadyCommitted extends Error {}

const isRound = (outcome: JsonObject | OpenRound): outcome is OpenRound =>
  'asks' in outcome && !('content' in outcome) && !('messages' in outcome) && !('contents' in outcome);

/** A form that was filled in wrongly, with what was wrong above the question. */
function again(question: Asks[string], problems: readonly string[]): Asks[string] {
  const { request } = question;
  const message = own(request.params ?? {}, 'message');
  if (typeof message !== 'string') return question;
  const text = `${problems.join('; ')}. ${message}`;
  return { ...question, request: { ...request, params: { ...request.params, message: text } } };
}

const fail = (
  status: number,
  error: { readonly code: number; readonly message: string; readonly data?: unknown },
): Extract<Served, { kind: 'error' }> => ({ kind: 'error', status, error });
