import type { Exchange, Failure, Outcome, Reply } from '@thv/dispatcher';
import { missingCapabilities, requiredCapabilities } from '@thv/mrtr';
import type { ClientCapabilities, InputRequest, InputRequests } from '@thv/mrtr';
import { createPark } from '@thv/mrtr/bridge';
import type { Park, ParkedQuestion } from '@thv/mrtr/bridge';
import { RPC_CODES, buildError, buildResult, editMembers, idKey, spliceMessage } from '@thv/transport';
import type { Clock, JsonObject, Message } from '@thv/transport';
import { LOG_LEVEL_KEY, metaOf, own, paramsOf } from '../meta.js';
import { ASKING } from '../modern/violations.js';
import type { Holder, LeasedProcess } from './process.js';

/** What a parked call needs of the one who leases. */
export interface ParkedCallOptions {
  readonly id: string;
  readonly clock: Clock;
  readonly parkTtlMs: number;
  readonly maxRounds: number;
  /** The state for a round, sealed for its caller. */
  readonly seal: (round: number) => Promise<string>;
  /** The call is over: `clean` when the process may be used again. */
  readonly onOver: (call: ParkedCall, outcome: Outcome, clean: boolean) => void;
}

/** Questions of one call that wait at the same time. */
const MAX_OPEN = 64;
const QUESTIONS: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list']);
const RANKS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

const ownResults = new WeakSet<Message>();

/** Whether a result is one of ours, in the words of the newer era. What a server says of itself does not count. */
export const isOwnResult = (message: Message): boolean => ownResults.has(message);

function ownResult(request: Message, result: JsonObject): Message {
  const message = buildResult(request.idText ?? '0', result);
  ownResults.add(message);
  return message;
}

/** One call of a server of the older era, for a client that answers its questions in further requests. */
export class ParkedCall implements Holder {
  readonly id: string;
  readonly process: LeasedProcess;
  readonly #options: ParkedCallOptions;
  readonly #park: Park;
  readonly #questions = new Map<string, ParkedQuestion>();
  #request: Message;
  #reply: Reply | undefined;
  #exchange: Exchange | undefined;
  #stopTtl: (() => void) | undefined;
  /** The last round as it went out, for a client whose response was lost. */
  #lastRound: JsonObject | undefined;
  #over = false;
  #stands = false;

  constructor(process: LeasedProcess, request: Message, reply: Reply, options: ParkedCallOptions) {
    this.id = options.id;
    this.process = process;
    this.#request = request;
    this.#reply = reply;
    this.#options = options;
    this.#park = createPark({
      setTimer: (delayMs, callback) => options.clock.setTimer(delayMs, callback),
      onRound: (questions, round) => void this.#ask(questions, round),
    });
  }

  get round(): number {
    return this.#park.round;
  }

  /** Whether the client has the questions and no request of it waits. */
  get parked(): boolean {
    return this.#reply === undefined && !this.#over;
  }

  /** Sends the request to the server. `legacy` is what the server reads. */
  start(legacy: Message): void {
    this.process.holder = this;
    this.#attach();
    this.#exchange = this.process.request(legacy, new CallReply(this.#reply?.streams ?? false, this));
  }

  /** A retry with answers; its reply takes the place of the one before. Answers keys of a wrong form. */
  resume(request: Message, reply: Reply, responses: JsonObject): readonly string[] {
    const before = { request: this.#request, reply: this.#reply };
    this.#request = request;
    this.#reply = reply;
    const bad = this.#park.answer(responses as never);
    if (bad.length > 0) {
      this.#request = before.request;
      this.#reply = before.reply;
      return bad;
    }
    if (this.#park.waiting) return [];
    this.#stopTtl?.();
    this.#attach();
    this.#standStill(false);
    return [];
  }

  /** The round that is out, once more, for a client that did not get it. */
  repeat(request: Message, reply: Reply): boolean {
    if (this.#lastRound === undefined || !this.parked) return false;
    reply.settle({ kind: 'answer', message: ownResult(request, this.#lastRound) });
    return true;
  }

  asked(message: Message): void {
    const idText = message.idText ?? '0';
    const refuse = (text: string): void =>
      this.process.write(buildError(idText, { code: RPC_CODES.methodNotFound, message: text }));
    if (!QUESTIONS.has(message.method ?? '')) {
      refuse(`${message.method ?? ''} is not served`);
      return;
    }
    // Only these may answer with questions; the result of any other must not.
    if (!ASKING.has(this.#request.method)) {
      refuse(`${message.method ?? ''} cannot be asked while ${this.#request.method ?? ''} is under way`);
      return;
    }
    const request = { method: message.method, params: paramsOf(message) } as unknown as InputRequest;
    const declared = this.process.profile.capabilities as ClientCapabilities;
    if (missingCapabilities(requiredCapabilities(request), declared) !== undefined) {
      refuse(`The client did not declare what ${message.method ?? ''} needs`);
      return;
    }
    if (this.#questions.size >= MAX_OPEN) {
      refuse(`More than ${MAX_OPEN} questions wait for an answer`);
      return;
    }
    const key = idKey(idText);
    if (this.#questions.has(key)) {
      refuse('A question with this id waits for an answer');
      return;
    }
    const question: ParkedQuestion = {
      request: Object.keys(request.params ?? {}).length === 0 ? { method: request.method } : request,
      respond: (result) => {
        this.#questions.delete(key);
        this.process.write(buildResult(idText, result));
      },
      refuse: (text) => {
        this.#questions.delete(key);
        this.process.write(buildError(idText, { code: RPC_CODES.internalError, message: text }));
      },
    };
    this.#questions.set(key, question);
    this.#park.add(question);
  }

  told(message: Message): void {
    if (message.method === 'notifications/cancelled') {
      const id = own(paramsOf(message), 'requestId');
      const question = id === undefined ? undefined : this.#questions.get(idKey(JSON.stringify(id)));
      if (question === undefined || id === undefined) return;
      this.#questions.delete(idKey(JSON.stringify(id)));
      this.#park.withdraw(question);
    } else if (message.method === 'notifications/message' && this.#wantsLog(message)) {
      this.#reply?.send(message);
    }
  }

  progressed(message: Message): void {
    const token = this.#request.progressTokenText;
    if (token === undefined || this.#reply === undefined || !this.#reply.streams) return;
    this.#reply.send(editMembers(message, { path: ['params'], set: { progressToken: token } }));
  }

  keepAlive(): void {
    this.#reply?.keepAlive();
  }

  settled(outcome: Outcome): void {
    if (this.#over) return;
    const reply = this.#finish();
    const answer =
      outcome.kind === 'answer'
        ? { ...outcome, message: spliceMessage(outcome.message, { idText: this.#request.idText ?? '0' }) }
        : outcome;
    this.#options.onOver(this, answer, outcome.kind === 'answer');
    reply?.settle(answer);
  }

  /** Gives the call up: the server is told, whoever waits gets the failure. */
  abandon(failure: Failure | undefined, answer?: Message): void {
    if (this.#over) return;
    const reply = this.#finish();
    this.#exchange?.cancel({ reason: failure?.message ?? 'The client is gone' });
    const given: Outcome = failure === undefined ? { kind: 'cancelled' } : { kind: 'failure', failure };
    const outcome: Outcome = answer === undefined ? given : { kind: 'answer', message: answer };
    this.#options.onOver(this, outcome, false);
    reply?.settle(outcome);
  }

  #finish(): Reply | undefined {
    const reply = this.#reply;
    this.#over = true;
    this.#reply = undefined;
    this.#stopTtl?.();
    this.#park.close('The request is over');
    return reply;
  }

  /** The end of the connection means cancel while a request waits; between rounds nobody waits. */
  #attach(): void {
    const reply = this.#reply;
    if (reply === undefined) return;
    reply.onGone = () => {
      if (this.#reply === reply) this.abandon(undefined);
    };
  }

  async #ask(questions: InputRequests, round: number): Promise<void> {
    if (round > this.#options.maxRounds) {
      this.#giveUp();
      return;
    }
    this.#standStill(true);
    try {
      const requestState = await this.#options.seal(round);
      if (this.#over) return;
      const result = { resultType: 'input_required', inputRequests: questions as object, requestState };
      const reply = this.#reply;
      this.#reply = undefined;
      this.#lastRound = result;
      this.#stopTtl?.();
      this.#stopTtl = this.#options.clock.setTimer(this.#options.parkTtlMs, () => this.abandon(NOBODY_CAME));
      reply?.settle({ kind: 'answer', message: ownResult(this.#request, result) });
    } catch (error) {
      this.abandon(sealFailure(error));
    }
  }

  /** The deadline of the call stands still while its client thinks. */
  #standStill(still: boolean): void {
    if (still === this.#stands) return;
    this.#stands = still;
    if (still) this.#exchange?.park();
    else this.#exchange?.unpark();
  }

  /** A tool says itself that it was asked too often, so that a model can read it. */
  #giveUp(): void {
    const text = `The server asked again after ${this.#options.maxRounds} rounds`;
    if (this.#request.method !== 'tools/call') {
      this.abandon(tooManyRounds(text));
      return;
    }
    const result = { resultType: 'complete', content: [{ type: 'text', text }], isError: true };
    this.abandon(undefined, ownResult(this.#request, result));
  }

  #wantsLog(message: Message): boolean {
    const wanted = RANKS.indexOf(String(own(metaOf(this.#request), LOG_LEVEL_KEY)));
    const rank = RANKS.indexOf(String(own(paramsOf(message), 'level')));
    return wanted >= 0 && rank >= wanted && this.#reply?.streams === true;
  }
}

const NOBODY_CAME: Failure = {
  reason: 'timeout',
  status: 504,
  code: RPC_CODES.internalError,
  message: 'Nobody answered in time',
  data: { reason: 'flow-expired' },
};

const tooManyRounds = (message: string): Failure => ({
  reason: 'refused',
  status: 200,
  code: RPC_CODES.internalError,
  message,
  data: { reason: 'too-many-rounds' },
});

const sealFailure = (error: unknown): Failure => ({
  reason: 'refused',
  status: 500,
  code: RPC_CODES.internalError,
  message: error instanceof Error ? error.message : 'The state could not be sealed',
  data: { reason: 'state-unavailable' },
});

/** The reply that the channel knows: it stays, while clients come and go. */
class CallReply implements Reply {
  readonly streams: boolean;
  readonly open = true;
  readonly bufferedBytes = 0;
  readonly #call: ParkedCall;

  constructor(streams: boolean, call: ParkedCall) {
    this.streams = streams;
    this.#call = call;
  }

  send(message: Message): boolean {
    this.#call.progressed(message);
    return true;
  }

  keepAlive(): void {
    this.#call.keepAlive();
  }

  settle(outcome: Outcome): void {
    this.#call.settled(outcome);
  }
}
