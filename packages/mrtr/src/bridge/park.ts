import { isObject, own } from '../json.js';
import type { InputRequest, InputRequests, JsonObject } from '../types.js';

/** Calls back once after `delayMs`; the answer cancels. */
export type SetTimer = (delayMs: number, callback: () => void) => () => void;

/** A question that a server asked while its call was under way. */
export interface ParkedQuestion {
  readonly request: InputRequest;
  /** Gives the server its answer. */
  readonly respond: (result: JsonObject) => void;
  /** Tells the server that there will be none. */
  readonly refuse: (message: string) => void;
}

/** Options of {@link createPark}. */
export interface ParkOptions {
  readonly setTimer: SetTimer;
  /** How long further questions are waited for. @defaultValue 25 */
  readonly coalesceMs?: number;
  /** Called when there are questions and somebody waits who can take them. */
  readonly onRound: (questions: InputRequests, round: number) => void;
}

/** The questions of one call between its rounds. */
export interface Park {
  /** Rounds that were asked. */
  readonly round: number;
  /** Whether a round is out and its answers are not in. */
  readonly waiting: boolean;
  add(question: ParkedQuestion): void;
  /** The server takes a question back. */
  withdraw(question: ParkedQuestion): void;
  /**
   * Takes the answers of a retry; unknown keys are ignored. What is still open is asked again at once, under its old
   * key; otherwise the call goes on.
   *
   * @returns keys whose answer has a wrong form; then nothing was taken
   */
  answer(responses: JsonObject): readonly string[];
  /** Refuses what is open; nothing is asked any more. */
  close(message: string): void;
}

/** Collects the questions of a call, asks those that come together in one round, and gives the answers back. */
export function createPark(options: ParkOptions): Park {
  return new QuestionPark(options);
}

class QuestionPark implements Park {
  round = 0;
  readonly #options: ParkOptions;
  readonly #open = new Map<string, ParkedQuestion>();
  #asked: ReadonlySet<string> = new Set();
  #count = 0;
  #stop: (() => void) | undefined;
  #closed = false;

  constructor(options: ParkOptions) {
    this.#options = options;
  }

  get waiting(): boolean {
    return this.#asked.size > 0;
  }

  add(question: ParkedQuestion): void {
    if (this.#closed) {
      question.refuse('The request is over');
      return;
    }
    this.#count += 1;
    this.#open.set(`e${this.#count}`, question);
    this.#schedule();
  }

  withdraw(question: ParkedQuestion): void {
    for (const [key, other] of this.#open) if (other === question) this.#open.delete(key);
  }

  answer(responses: JsonObject): readonly string[] {
    const given = [...this.#open.keys()].filter((key) => own(responses, key) !== undefined);
    const bad = given.filter((key) => !fits(this.#open.get(key)?.request, own(responses, key)));
    if (bad.length > 0) return bad;
    this.#asked = new Set();
    const answered = given.map((key) => [this.#open.get(key), own(responses, key) as JsonObject] as const);
    for (const key of given) this.#open.delete(key);
    for (const [question, result] of answered) question?.respond(result);
    if (this.#open.size > 0) this.#ask();
    return [];
  }

  close(message: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stop?.();
    const open = [...this.#open.values()];
    this.#open.clear();
    this.#asked = new Set();
    for (const question of open) question.refuse(message);
  }

  #schedule(): void {
    if (this.waiting || this.#stop !== undefined) return;
    this.#stop = this.#options.setTimer(this.#options.coalesceMs ?? 25, () => {
      this.#stop = undefined;
      if (this.#open.size > 0 && !this.waiting) this.#ask();
    });
  }

  #ask(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.round += 1;
    this.#asked = new Set(this.#open.keys());
    const questions = Object.fromEntries([...this.#open].map(([key, { request }]) => [key, request]));
    this.#options.onRound(questions, this.round);
  }
}

const ACTIONS: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel']);

/** Whether an answer has the form that its kind of question has. Content is the server's business: it asked. */
function fits(request: InputRequest | undefined, answer: unknown): boolean {
  if (!isObject(answer)) return false;
  switch (request?.method) {
    case 'elicitation/create':
      return ACTIONS.has(own(answer, 'action'));
    case 'sampling/createMessage':
      return own(answer, 'content') !== undefined && typeof own(answer, 'role') === 'string';
    default:
      return Array.isArray(own(answer, 'roots'));
  }
}
