import type { RenderBudget } from './budget.js';
import { Formatter } from './format.js';
import { integerOf, kindOf, typeName } from './value.js';

/** Widths and precisions beyond this are refused, as in Go. */
const MAX_SIZE = 1_000_000;

/** A number in a format: its value, or -1, and where it ends. */
function readNumber(format: string, start: number, end: number): { value: number; next: number } {
  let value = -1;
  let next = start;
  for (; next < end; next += 1) {
    const digit = format.charCodeAt(next) - 0x30;
    if (digit < 0 || digit > 9) break;
    if (value > MAX_SIZE) return { value: -1, next: end };
    value = Math.max(value, 0) * 10 + digit;
  }
  return { value, next };
}

/** One run of a format over its operands. */
class Printf {
  readonly #format: string;
  readonly #operands: readonly unknown[];
  readonly #out: Formatter;
  #at = 0;
  #operand = 0;
  #reordered = false;
  #goodIndex = true;

  constructor(format: string, operands: readonly unknown[], budget: RenderBudget) {
    this.#format = format;
    this.#operands = operands;
    this.#out = new Formatter(budget);
  }

  run(): string {
    while (this.#at < this.#format.length) {
      const percent = this.#format.indexOf('%', this.#at);
      const end = percent < 0 ? this.#format.length : percent;
      if (end > this.#at) this.#out.write(this.#format.slice(this.#at, end));
      if (percent < 0) break;
      this.#at = percent + 1;
      this.#goodIndex = true;
      this.#out.clear();
      if (!this.#directive()) break;
    }
    this.#extra();
    return this.#out.text;
  }

  #flags(): void {
    for (; this.#at < this.#format.length; this.#at += 1) {
      switch (this.#format[this.#at]) {
        case '#':
          this.#out.sharp = true;
          break;
        case '0':
          this.#out.zero = true;
          break;
        case '+':
          this.#out.plus = true;
          break;
        case '-':
          this.#out.minus = true;
          break;
        case ' ':
          this.#out.space = true;
          break;
        default:
          return;
      }
    }
  }

  /** False at a format that ends in the middle of a directive. */
  #directive(): boolean {
    this.#flags();
    let indexed = this.#index();
    indexed = this.#width(indexed);
    if (this.#format[this.#at] === '.' && this.#at + 1 < this.#format.length) {
      this.#at += 1;
      if (indexed) this.#goodIndex = false;
      indexed = this.#precision(this.#index());
    }
    if (!indexed) this.#index();
    const code = this.#format.codePointAt(this.#at);
    if (code === undefined) {
      this.#out.write('%!(NOVERB)');
      return false;
    }
    const verb = String.fromCodePoint(code);
    this.#at += verb.length;
    this.#print(verb);
    return true;
  }

  #width(indexed: boolean): boolean {
    if (this.#format[this.#at] === '*') {
      this.#at += 1;
      const width = this.#size();
      if (width === undefined) this.#out.write('%!(BADWIDTH)');
      else {
        this.#out.width = Math.abs(width);
        if (width < 0) this.#out.minus = true;
      }
      return false;
    }
    const { value, next } = readNumber(this.#format, this.#at, this.#format.length);
    this.#out.width = value;
    this.#at = next;
    // `%[3]2d`: an index belongs to the verb or to a star.
    if (indexed && value >= 0) this.#goodIndex = false;
    return indexed;
  }

  #precision(indexed: boolean): boolean {
    if (this.#format[this.#at] === '*') {
      this.#at += 1;
      const precision = this.#size();
      if (precision === undefined || precision < 0) this.#out.write('%!(BADPREC)');
      else this.#out.precision = precision;
      return false;
    }
    const { value, next } = readNumber(this.#format, this.#at, this.#format.length);
    this.#out.precision = Math.max(value, 0);
    this.#at = next;
    return indexed;
  }

  /** The operand that a star takes, undefined where it is no small integer. */
  #size(): number | undefined {
    if (this.#operand >= this.#operands.length) return undefined;
    const value = integerOf(this.#operands[this.#operand]);
    this.#operand += 1;
    if (value === undefined || value > MAX_SIZE || value < -MAX_SIZE) return undefined;
    return Number(value);
  }

  /** Reads `[n]`; true if there was one. */
  #index(): boolean {
    if (this.#format[this.#at] !== '[') return false;
    this.#reordered = true;
    const start = this.#at;
    const close = this.#format.indexOf(']', start + 1);
    // Go wants room for `[n]` before it looks for the bracket.
    if (close < 0 || this.#format.length - start < 3) {
      this.#at += 1;
      this.#goodIndex = false;
      return false;
    }
    this.#at = close + 1;
    const { value, next } = readNumber(this.#format, start + 1, close);
    const numeric = value >= 0 && next === close;
    if (numeric && value >= 1 && value <= this.#operands.length) this.#operand = value - 1;
    else this.#goodIndex = false;
    return numeric;
  }

  #print(verb: string): void {
    const out = this.#out;
    if (verb === '%') return out.write('%');
    if (!this.#goodIndex) return out.write(`%!${verb}(BADINDEX)`);
    if (this.#operand >= this.#operands.length) return out.write(`%!${verb}(MISSING)`);
    if (verb === 'v' || verb === 'w') {
      out.goSyntax = out.sharp;
      out.sharp = false;
      out.plus = false;
    }
    out.print(this.#operands[this.#operand], verb);
    this.#operand += 1;
  }

  /** Operands that no directive asked for. */
  #extra(): void {
    if (this.#reordered || this.#operand >= this.#operands.length) return;
    const out = this.#out;
    out.clear();
    out.write('%!(EXTRA ');
    for (let i = this.#operand; i < this.#operands.length; i += 1) {
      const value = this.#operands[i];
      if (i > this.#operand) out.write(', ');
      const kind = kindOf(value);
      if (kind === 'nil' || kind === 'invalid') out.write('<nil>');
      else {
        out.write(`${typeName(value)}=`);
        out.print(value, 'v');
      }
    }
    out.write(')');
  }
}

/**
 * `fmt.Sprintf`.
 *
 * @see https://pkg.go.dev/fmt#Sprintf
 */
export function sprintf(format: string, operands: readonly unknown[], budget: RenderBudget): string {
  return new Printf(format, operands, budget).run();
}

/** `fmt.Sprint`: a space stands between two operands that are both no texts. */
export function sprint(operands: readonly unknown[], budget: RenderBudget): string {
  if (operands.length === 1 && typeof operands[0] === 'string') return operands[0];
  const out = new Formatter(budget);
  for (const [index, value] of operands.entries()) {
    if (index > 0 && typeof value !== 'string' && typeof operands[index - 1] !== 'string') out.write(' ');
    out.print(value, 'v');
  }
  return out.text;
}

/** `fmt.Sprintln`: a space between all operands, and a line break. */
export function sprintln(operands: readonly unknown[], budget: RenderBudget): string {
  const out = new Formatter(budget);
  for (const [index, value] of operands.entries()) {
    if (index > 0) out.write(' ');
    out.print(value, 'v');
  }
  out.write('\n');
  return out.text;
}
