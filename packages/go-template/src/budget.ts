import { GoTemplateError } from './errors.js';
import { byteLength } from './text.js';

/** What functions report their work to, so that no template outlives its budget. */
export interface RenderBudget {
  /**
   * Takes work off the budget; one unit is about the work of one action.
   *
   * @throws {@link GoTemplateError} `ERR_GO_TEMPLATE_STEPS`
   */
  spend(units: number): void;
  /**
   * Asks whether a text of this many UTF-16 units may be made.
   *
   * @throws {@link GoTemplateError} `ERR_GO_TEMPLATE_OUTPUT`
   */
  fits(length: number): void;
}

/** What an execution may cost. */
export interface Limits {
  readonly maxOutputBytes: number;
  readonly maxSteps: number;
  readonly signal: AbortSignal | undefined;
}

/** Steps between two looks at the signal. */
const SLICE = 1024;

/** Text that is read or made costs a step for so many UTF-16 units. */
const UNITS_PER_STEP = 256;

/** Thrown through all of an execution; `reason` is what the caller gets. */
export class Aborted {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/** Counts the steps and holds the output of one execution. */
export class Budget implements RenderBudget {
  readonly #limits: Limits;
  /** Steps left in this slice, and beyond it. */
  #slice = 0;
  #rest: number;
  #output = '';
  /** From this length on bytes are counted: below it they cannot be too many. */
  #countFrom: number;
  #bytes = -1;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#rest = limits.maxSteps;
    this.#countFrom = Math.floor(limits.maxOutputBytes / 3);
  }

  /** The place that a limit is blamed on, with ` at ` before it. */
  where(): string {
    return '';
  }

  get output(): string {
    return this.#output;
  }

  step(): void {
    this.#slice -= 1;
    if (this.#slice < 0) this.#refill();
  }

  spend(units: number): void {
    this.#slice -= units;
    if (this.#slice < 0) this.#refill();
  }

  /** Takes the work of reading a text off the budget. */
  spendText(length: number): void {
    if (length >= UNITS_PER_STEP) this.spend(Math.floor(length / UNITS_PER_STEP));
  }

  #refill(): void {
    const { signal, maxSteps } = this.#limits;
    if (signal?.aborted === true) throw new Aborted(signal.reason);
    const left = this.#rest + this.#slice;
    if (left < 0) {
      throw new GoTemplateError(
        'ERR_GO_TEMPLATE_STEPS',
        `template stopped after ${maxSteps} steps${this.where()}; simplify it or raise \`maxSteps\``,
        { details: { maxSteps } },
      );
    }
    this.#slice = Math.min(SLICE, left);
    this.#rest = left - this.#slice;
  }

  fits(length: number): void {
    if (length > this.#limits.maxOutputBytes) this.#tooLarge(length);
  }

  write(text: string): void {
    this.#output += text;
    if (this.#output.length > this.#countFrom) this.#count(text);
  }

  #count(text: string): void {
    if (this.#bytes < 0) {
      this.#bytes = byteLength(this.#output);
      this.#countFrom = 0;
    } else this.#bytes += byteLength(text);
    if (this.#bytes > this.#limits.maxOutputBytes) this.#tooLarge(this.#bytes);
  }

  #tooLarge(bytes: number): never {
    const { maxOutputBytes } = this.#limits;
    throw new GoTemplateError(
      'ERR_GO_TEMPLATE_OUTPUT',
      `template output too large: ${bytes} bytes or more (max ${maxOutputBytes})${this.where()}; raise \`maxOutputBytes\``,
      { details: { maxOutputBytes } },
    );
  }
}
