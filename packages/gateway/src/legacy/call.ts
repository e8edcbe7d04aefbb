import type { Outcome, Reply } from '@thv/dispatcher';
import { fulfilRound } from '@thv/mrtr/bridge';
import type { LegacyClient } from '@thv/mrtr/bridge';
import { RPC_CODES, buildError, buildNotification, buildResult, editMembers } from '@thv/transport';
import type { Clock, JsonObject, Message, RequestContext } from '@thv/transport';
import { hasEscapes, mayHold, own } from '../meta.js';
import type { ModernServer } from '../server.js';
import type { Questions } from './questions.js';
import { toLegacyResult } from './strip.js';

/** What the calls of one session share. */
export interface CallSurroundings {
  readonly server: ModernServer;
  readonly context: RequestContext;
  readonly questions: Questions;
  readonly client: () => LegacyClient;
  readonly send: (message: Message, origin?: string) => void;
  readonly createId: () => string;
  readonly clock: Clock;
  readonly maxRounds: number;
  readonly paceMs: number;
}

/** One request of an older client, through as many rounds as its server needs. */
export class LegacyCall {
  readonly #request: Message;
  readonly #idText: string;
  readonly #around: CallSurroundings;
  readonly #abort = new AbortController();
  readonly #elicitationIds: string[] = [];
  readonly #onOver: () => void;
  #reply: RoundReply | undefined;
  #rounds = 0;
  #over = false;
  #stopTimer: (() => void) | undefined;

  constructor(request: Message, around: CallSurroundings, onOver: () => void) {
    this.#request = request;
    this.#idText = request.idText ?? '0';
    this.#around = around;
    this.#onOver = onOver;
  }

  start(): void {
    this.#sendRound(this.#request);
  }

  /** The client wants no answer any more. */
  cancel(): void {
    if (this.#over) return;
    this.#finish();
    this.#reply?.onGone?.();
    this.#abort.abort();
  }

  #sendRound(message: Message): void {
    const { server, context } = this.#around;
    this.#reply = new RoundReply((outcome) => this.#settled(outcome), this.#progress);
    server.request(message, this.#reply, context);
  }

  readonly #progress = (message: Message): void => {
    if (!this.#over) this.#around.send(message, this.#idText);
  };

  #settled(outcome: Outcome): void {
    if (this.#over || outcome.kind === 'cancelled') return;
    if (outcome.kind === 'failure') {
      const { code, message, data } = outcome.failure;
      this.#fail({ code, message, ...(data === undefined ? {} : { data }) });
      return;
    }
    const answer = outcome.message;
    if (answer.isError) {
      this.#end(answer);
      return;
    }
    const type = resultType(answer);
    if (type === undefined || type === 'complete') this.#end(toLegacyResult(answer));
    else if (type === 'input_required') void this.#nextRound(own(answer.json(), 'result') as JsonObject);
    else this.#fail({ code: RPC_CODES.internalError, message: `Unknown resultType ${JSON.stringify(type)}` });
  }

  async #nextRound(result: JsonObject): Promise<void> {
    const { client, questions, createId, maxRounds, paceMs, clock } = this.#around;
    this.#rounds += 1;
    if (this.#rounds > maxRounds) {
      this.#refuse(`The server asked again after ${maxRounds} rounds`);
      return;
    }
    const round = await fulfilRound(result as never, {
      client: client(),
      ask: (question, signal) => questions.ask(question, this.#idText, signal),
      createId,
      signal: this.#abort.signal,
    });
    if (this.#over) return;
    if (round.kind === 'failed') {
      this.#refuse(round.message);
      return;
    }
    this.#elicitationIds.push(...round.elicitationIds);
    const { inputResponses, requestState } = round;
    const set = {
      ...(inputResponses === undefined ? {} : { inputResponses: JSON.stringify(inputResponses) }),
      ...(requestState === undefined ? {} : { requestState: JSON.stringify(requestState) }),
    };
    const retry = editMembers(this.#request, { path: ['params'], set });
    const waits = inputResponses === undefined || round.elicitationIds.length > 0;
    if (!waits) this.#sendRound(retry);
    else this.#stopTimer = clock.setTimer(paceMs * 2 ** (this.#rounds - 1), () => this.#sendRound(retry));
  }

  /** The server needs what this client cannot give. A tool says so itself, so that a model can read it. */
  #refuse(message: string): void {
    if (this.#request.method === 'tools/call') {
      this.#end(buildResult(this.#idText, { content: [{ type: 'text', text: message }], isError: true }));
    } else {
      this.#fail({ code: RPC_CODES.internalError, message });
    }
  }

  #fail(error: { code: number; message: string; data?: unknown }): void {
    this.#end(buildError(this.#idText, error));
  }

  #end(message: Message): void {
    if (this.#over) return;
    for (const elicitationId of this.#elicitationIds) {
      this.#around.send(buildNotification('notifications/elicitation/complete', { elicitationId }), this.#idText);
    }
    this.#finish();
    this.#around.send(message);
  }

  #finish(): void {
    this.#over = true;
    this.#stopTimer?.();
    this.#onOver();
  }
}

const MARKER = Buffer.from('"resultType"');

const COMPLETE = /^\s*:\s*"complete"/;

/** The type of a result; most are not parsed for it. */
function resultType(answer: Message): unknown {
  if (!mayHold(answer, MARKER)) return undefined;
  const { bytes } = answer;
  const at = bytes.indexOf(MARKER);
  const isOnly = !hasEscapes(answer) && bytes.indexOf(MARKER, at + 1) < 0;
  if (isOnly && COMPLETE.test(bytes.toString('latin1', at + MARKER.length, at + MARKER.length + 16))) return 'complete';
  return own(own(answer.json(), 'result'), 'resultType');
}

/** The reply to one round. */
class RoundReply implements Reply {
  readonly streams = true;
  readonly open = true;
  readonly bufferedBytes = 0;
  onGone: (() => void) | undefined;
  readonly #settle: (outcome: Outcome) => void;
  readonly #progress: (message: Message) => void;

  constructor(settle: (outcome: Outcome) => void, progress: (message: Message) => void) {
    this.#settle = settle;
    this.#progress = progress;
  }

  send(message: Message): boolean {
    this.#progress(message);
    return true;
  }

  keepAlive(): void {
    // The dispatcher in front keeps the client's stream alive.
  }

  settle(outcome: Outcome): void {
    this.#settle(outcome);
  }
}
