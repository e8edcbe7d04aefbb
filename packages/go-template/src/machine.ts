import { Aborted, Budget, type Limits } from './budget.js';
import { GoTemplateError, isStackOverflow, type GoTemplateErrorCode } from './errors.js';
import { printNode, type CommandNode, type Expression, type TemplateNode } from './nodes.js';
import { quote } from './quote.js';
import { byteLength, toOutput } from './text.js';

/** What a statement asks of the loop around it. */
export const CONTINUE_ON = 0;
export const BREAK = 1;
export const CONTINUE = 2;
export type Jump = typeof CONTINUE_ON | typeof BREAK | typeof CONTINUE;

/** A compiled statement or list. */
export type Run = (machine: Machine) => Jump;

/** A compiled expression. */
export type Evaluate = (machine: Machine) => unknown;

/** A compiled command; `final` is what the command before it in the pipeline gave. */
export type EvaluateCommand = (machine: Machine, final: unknown) => unknown;

/** What a key that a map does not have gives: no value, a nil interface, or an error. */
export type MissingKey = 'default' | 'zero' | 'error';

/** The compiled templates of one source. */
export interface Program {
  readonly name: string;
  readonly source: string;
  readonly missingKey: MissingKey;
  readonly bodies: ReadonlyMap<string, Run>;
}

/** JavaScript's stack bears no more; Go allows 100,000. */
export const MAX_TEMPLATE_DEPTH = 1000;

/** Looking past so many variables costs a step. */
const NAMES_PER_STEP = 64;

/** One execution: dot, variables, and the node that an error would be blamed on. */
export class Machine extends Budget {
  readonly program: Program;
  /** The template that runs. */
  template: string;
  node: Expression | CommandNode | TemplateNode | undefined = undefined;
  dot: unknown;
  /** True if dot is an element of a list or map, whose type Go then calls `interface {}`. */
  boxed = false;
  depth = 0;
  readonly #names: string[] = ['$'];
  readonly #values: unknown[];
  readonly #boxes: boolean[] = [false];
  /** Where the variables of the template that runs begin. */
  #base = 0;

  constructor(program: Program, data: unknown, limits: Limits) {
    super(limits);
    this.program = program;
    this.template = program.name;
    // A nil interface at the root is no value at all, unlike one inside the data.
    this.dot = data ?? undefined;
    this.#values = [this.dot];
  }

  /** Height of the variable stack. */
  get mark(): number {
    return this.#names.length;
  }

  push(name: string, value: unknown): void {
    this.#names.push(name);
    this.#values.push(value);
    this.#boxes.push(false);
  }

  pop(mark: number): void {
    if (this.#names.length === mark) return;
    this.#names.length = mark;
    this.#values.length = mark;
    this.#boxes.length = mark;
  }

  /** Index of a variable on the stack: the youngest of that name. */
  find(name: string): number {
    const last = this.#names.length - 1;
    let index = last;
    while (index >= this.#base && this.#names[index] !== name) index -= 1;
    if (last - index >= NAMES_PER_STEP) this.spend(Math.floor((last - index) / NAMES_PER_STEP));
    return index < this.#base ? this.fail(`undefined variable: ${name}`) : index;
  }

  valueAt(index: number): unknown {
    return this.#values[index];
  }

  boxedAt(index: number): boolean {
    return this.#boxes[index] === true;
  }

  set(index: number, value: unknown, boxed: boolean): void {
    this.#values[index] = value;
    this.#boxes[index] = boxed;
  }

  /** Runs another template on a value; it sees none of the variables. */
  call(name: string, run: Run, dot: unknown): void {
    const { template, dot: outerDot, boxed, mark } = this;
    const base = this.#base;
    this.template = name;
    this.dot = dot;
    this.boxed = false;
    this.depth += 1;
    this.#base = mark;
    this.push('$', dot);
    run(this);
    this.pop(mark);
    this.#base = base;
    this.depth -= 1;
    this.template = template;
    this.dot = outerDot;
    this.boxed = boxed;
  }

  /** Line and column of the current node. */
  #place(): { line: number; column: number } {
    const before = this.program.source.slice(0, this.node?.pos ?? 0);
    const lineStart = before.lastIndexOf('\n') + 1;
    return { line: before.split('\n').length, column: byteLength(before.slice(lineStart)) };
  }

  override where(): string {
    if (this.node === undefined) return '';
    const { line, column } = this.#place();
    return ` at ${this.program.name}:${line}:${column}`;
  }

  /** Ends the execution with an error at the current node. */
  fail(problem: string, cause?: unknown, code: GoTemplateErrorCode = 'ERR_GO_TEMPLATE_EXEC'): never {
    const { line, column } = this.#place();
    const context = this.node === undefined ? '' : printNode(this.node);
    const place = `${this.program.name}:${line}:${column}`;
    const message = `template: ${place}: executing ${quote(this.template)} at <${context}>: ${problem}`;
    throw new GoTemplateError(code, toOutput(message), {
      line,
      column,
      cause,
      details: { template: this.template, node: context, problem },
    });
  }

  /** Passes on what a function threw, as an error of its call unless it ends everything. */
  failCall(name: string, error: unknown): never {
    if (error instanceof Aborted || isStackOverflow(error)) throw error;
    if (error instanceof GoTemplateError && error.code !== 'ERR_GO_TEMPLATE_EXEC') throw error;
    return this.fail(`error calling ${name}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}
