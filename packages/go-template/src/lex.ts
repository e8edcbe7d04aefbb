import { describeRune, quote } from './quote.js';
import { isAlphanumeric, isPrint } from './text.js';
import { KEYWORDS, T, type Token, type TokenType } from './token.js';

const SPACES = ' \t\r\n';

function isSpace(unit: string | undefined): boolean {
  return unit !== undefined && unit !== '' && SPACES.includes(unit);
}

/** Which of the words that Go gave a meaning late are functions here. */
export interface LexOptions {
  readonly breakIsFunction: boolean;
  readonly continueIsFunction: boolean;
}

/**
 * Cuts a source into tokens, one a call: the parser looks no further ahead than Go's does, so that of two mistakes the
 * same one is reported, at the same line.
 */
export class Lexer {
  readonly #input: string;
  readonly #options: LexOptions;
  #pos = 0;
  #start = 0;
  #line = 1;
  #insideAction = false;
  #parens = 0;
  #failed = false;

  constructor(input: string, options: LexOptions) {
    this.#input = input;
    this.#options = options;
  }

  next(): Token {
    if (this.#failed) return { type: T.Eof, pos: 0, text: '', line: this.#line };
    return this.#insideAction ? this.#lexInside() : this.#lexText();
  }

  /** The token from `#start` to `#pos`. */
  #emit(type: TokenType): Token {
    const token = { type, pos: this.#start, text: this.#input.slice(this.#start, this.#pos), line: this.#line };
    this.#skip();
    return token;
  }

  /** The same for tokens that hold no line break. */
  #emitShort(type: TokenType): Token {
    const token = { type, pos: this.#start, text: this.#input.slice(this.#start, this.#pos), line: this.#line };
    this.#start = this.#pos;
    return token;
  }

  #skip(): void {
    for (let at = this.#start; at < this.#pos; at += 1) {
      if (this.#input.charCodeAt(at) === 10) this.#line += 1;
    }
    this.#start = this.#pos;
  }

  #error(text: string): Token {
    this.#failed = true;
    return { type: T.Error, pos: this.#start, text, line: this.#line };
  }

  #lexText(): Token {
    for (;;) {
      const open = this.#input.indexOf('{{', this.#pos);
      if (open < 0) {
        this.#pos = this.#input.length;
        return this.#emit(this.#pos > this.#start ? T.Text : T.Eof);
      }
      if (open > this.#pos) {
        const text = this.#textBefore(open);
        if (text !== undefined) return text;
      }
      const problem = this.#leftDelim();
      if (problem !== 'comment') return problem;
    }
  }

  #textBefore(open: number): Token | undefined {
    this.#pos = open;
    if (this.#hasLeftTrim(open + 2)) {
      while (this.#pos > this.#start && isSpace(this.#input[this.#pos - 1])) this.#pos -= 1;
    }
    const token = this.#pos > this.#start ? this.#emit(T.Text) : undefined;
    this.#pos = open;
    this.#skip();
    return token;
  }

  #leftDelim(): Token | 'comment' {
    this.#pos += 2;
    const trimmed = this.#hasLeftTrim(this.#pos);
    const after = this.#pos + (trimmed ? 2 : 0);
    if (this.#input.startsWith('/*', after)) {
      this.#pos = after;
      this.#skip();
      return this.#comment();
    }
    const token = this.#emitShort(T.LeftDelim);
    this.#pos = after;
    this.#skip();
    this.#insideAction = true;
    this.#parens = 0;
    return token;
  }

  #comment(): Token | 'comment' {
    const close = this.#input.indexOf('*/', this.#pos + 2);
    if (close < 0) return this.#error('unclosed comment');
    const end = close + 2;
    const trimmed = this.#hasRightTrim(end);
    if (!trimmed && !this.#input.startsWith('}}', end)) return this.#error('comment ends before closing delimiter');
    this.#pos = end + (trimmed ? 4 : 2);
    if (trimmed) this.#skipSpaces();
    this.#skip();
    return 'comment';
  }

  #hasLeftTrim(at: number): boolean {
    return this.#input[at] === '-' && isSpace(this.#input[at + 1]);
  }

  /** True if ` -}}` follows. */
  #hasRightTrim(at: number): boolean {
    return isSpace(this.#input[at]) && this.#input.startsWith('-}}', at + 1);
  }

  #skipSpaces(): void {
    while (isSpace(this.#input[this.#pos])) this.#pos += 1;
  }

  #rightDelim(): Token {
    const trimmed = this.#hasRightTrim(this.#pos);
    if (trimmed) {
      this.#pos += 2;
      this.#skip();
    }
    this.#pos += 2;
    const token = this.#emitShort(T.RightDelim);
    if (trimmed) {
      this.#skipSpaces();
      this.#skip();
    }
    this.#insideAction = false;
    return token;
  }

  #lexInside(): Token {
    const first = this.#input[this.#pos];
    if (this.#input.startsWith('}}', this.#pos) || (isSpace(first) && this.#hasRightTrim(this.#pos))) {
      return this.#parens === 0 ? this.#rightDelim() : this.#error('unclosed left paren');
    }
    if (first === undefined) return this.#error('unclosed action');
    if (isSpace(first)) return this.#space();
    switch (first) {
      case '.':
        return this.#dot();
      case '$':
        this.#pos += 1;
        return this.#name(T.Variable, T.Variable);
      case '"':
        return this.#quoted('"', T.String, 'unterminated quoted string');
      case "'":
        return this.#quoted("'", T.CharConstant, 'unterminated character constant');
      case '`':
        return this.#raw();
      default:
        return this.#punctuation(first) ?? this.#word(first);
    }
  }

  #punctuation(first: string): Token | undefined {
    switch (first) {
      case '=':
        this.#pos += 1;
        return this.#emitShort(T.Assign);
      case '|':
        this.#pos += 1;
        return this.#emitShort(T.Pipe);
      case ':':
        if (this.#input[this.#pos + 1] !== '=') return this.#error('expected :=');
        this.#pos += 2;
        return this.#emitShort(T.Declare);
      case '(':
        this.#pos += 1;
        this.#parens += 1;
        return this.#emitShort(T.LeftParen);
      case ')':
        this.#parens -= 1;
        if (this.#parens < 0) return this.#error('unexpected right paren');
        this.#pos += 1;
        return this.#emitShort(T.RightParen);
      default:
        return undefined;
    }
  }

  #word(first: string): Token {
    if (first === '+' || first === '-' || (first >= '0' && first <= '9')) return this.#number();
    const code = this.#input.codePointAt(this.#pos) ?? 0;
    if (isAlphanumeric(code)) return this.#identifier();
    if (code < 0x80 && isPrint(code)) {
      this.#pos += 1;
      return this.#emitShort(T.Char);
    }
    return this.#error(`unrecognized character in action: ${describeRune(code)}`);
  }

  /** A run of spaces; the last one may belong to a trim marker. */
  #space(): Token {
    this.#skipSpaces();
    if (this.#hasRightTrim(this.#pos - 1)) {
      this.#pos -= 1;
      if (this.#pos === this.#start) return this.#rightDelim();
    }
    return this.#emit(T.Space);
  }

  #skipAlphanumerics(): void {
    for (;;) {
      const code = this.#input.codePointAt(this.#pos);
      if (code === undefined || !isAlphanumeric(code)) return;
      this.#pos += code > 0xffff ? 2 : 1;
    }
  }

  /** True if what follows may follow a name; `.a.b` is two names. */
  #atTerminator(): boolean {
    const unit = this.#input[this.#pos];
    if (unit === undefined || '.,|:() \t\r\n'.includes(unit)) return true;
    return this.#input.startsWith('}}', this.#pos);
  }

  #badCharacter(): Token {
    return this.#error(`bad character ${describeRune(this.#input.codePointAt(this.#pos) ?? 0)}`);
  }

  #identifier(): Token {
    this.#skipAlphanumerics();
    if (!this.#atTerminator()) return this.#badCharacter();
    const word = this.#input.slice(this.#start, this.#pos);
    if (word === 'true' || word === 'false') return this.#emitShort(T.Bool);
    if (
      (word === 'break' && this.#options.breakIsFunction) ||
      (word === 'continue' && this.#options.continueIsFunction)
    ) {
      return this.#emitShort(T.Identifier);
    }
    return this.#emitShort(KEYWORDS.get(word) ?? T.Identifier);
  }

  #dot(): Token {
    const after = this.#input[this.#pos + 1];
    // Also a dot that ends the source: Go takes it for the start of a number.
    if (after === undefined || (after >= '0' && after <= '9')) return this.#number();
    this.#pos += 1;
    return this.#name(T.Field, T.Dot);
  }

  /** A field or variable whose first character is read, or that character alone. */
  #name(type: TokenType, alone: TokenType): Token {
    if (this.#atTerminator()) return this.#emitShort(alone);
    this.#skipAlphanumerics();
    return this.#atTerminator() ? this.#emitShort(type) : this.#badCharacter();
  }

  #quoted(delimiter: string, type: TokenType, problem: string): Token {
    for (let at = this.#pos + 1; ; at += 1) {
      const unit = this.#input[at];
      if (unit === delimiter) {
        this.#pos = at + 1;
        return this.#emitShort(type);
      }
      if (unit === '\\') at += 1;
      const taken = this.#input[at];
      if (taken === undefined || taken === '\n') return this.#error(problem);
    }
  }

  #raw(): Token {
    const close = this.#input.indexOf('`', this.#pos + 1);
    if (close < 0) return this.#error('unterminated raw quoted string');
    this.#pos = close + 1;
    return this.#emit(T.RawString);
  }

  #accept(set: string): boolean {
    const unit = this.#input[this.#pos];
    if (unit === undefined || !set.includes(unit)) return false;
    this.#pos += 1;
    return true;
  }

  #acceptRun(set: string): void {
    while (this.#accept(set));
  }

  #number(): Token {
    const fits = this.#scanNumber();
    const sign = this.#input[this.#pos];
    if (fits && sign !== '+' && sign !== '-') return this.#emitShort(T.Number);
    // The other half of a complex number: no space, and an `i` at its end.
    if (fits && this.#scanNumber() && this.#input[this.#pos - 1] === 'i') return this.#emitShort(T.Complex);
    return this.#error(`bad number syntax: ${quote(this.#input.slice(this.#start, this.#pos))}`);
  }

  /** Takes more than numbers, as Go does; the parser refuses the rest. */
  #scanNumber(): boolean {
    this.#accept('+-');
    let digits = '0123456789_';
    if (this.#accept('0')) {
      if (this.#accept('xX')) digits = '0123456789abcdefABCDEF_';
      else if (this.#accept('oO')) digits = '01234567_';
      else if (this.#accept('bB')) digits = '01_';
    }
    this.#acceptRun(digits);
    if (this.#accept('.')) this.#acceptRun(digits);
    const exponent = digits.length === 11 ? 'eE' : digits.length === 23 ? 'pP' : '';
    if (this.#accept(exponent)) {
      this.#accept('+-');
      this.#acceptRun('0123456789_');
    }
    this.#accept('i');
    const code = this.#input.codePointAt(this.#pos);
    if (code === undefined || !isAlphanumeric(code)) return true;
    this.#pos += code > 0xffff ? 2 : 1;
    return false;
  }
}
