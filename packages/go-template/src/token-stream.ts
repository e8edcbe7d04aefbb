import type { Lexer } from './lex.js';
import { T, type Token } from './token.js';

/** Tokens with up to three of them read ahead. */
export class TokenStream {
  readonly #lexer: Lexer;
  /** The first is always the one that was read last. */
  readonly #tokens: Token[] = [];
  #ahead = 0;

  constructor(lexer: Lexer) {
    this.#lexer = lexer;
  }

  /** The line of the token that was read last, which errors name. */
  get line(): number {
    return this.#tokens[0]?.line ?? 1;
  }

  next(): Token {
    if (this.#ahead > 0) this.#ahead -= 1;
    else this.#tokens[0] = this.#lexer.next();
    return this.#tokens[this.#ahead] as Token;
  }

  /** Puts the token back that `next` gave. */
  backup(): void {
    this.#ahead += 1;
  }

  /** Puts back the token that `next` gave, and one before it. */
  backup2(first: Token): void {
    this.#tokens[1] = first;
    this.#ahead = 2;
  }

  /** Puts back the token that `next` gave, and two before it. */
  backup3(first: Token, second: Token): void {
    this.#tokens[1] = second;
    this.#tokens[2] = first;
    this.#ahead = 3;
  }

  peek(): Token {
    const token = this.next();
    this.backup();
    return token;
  }

  nextNonSpace(): Token {
    let token = this.next();
    while (token.type === T.Space) token = this.next();
    return token;
  }

  peekNonSpace(): Token {
    const token = this.nextNonSpace();
    this.backup();
    return token;
  }
}
