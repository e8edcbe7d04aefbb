import { quote } from './quote.js';
import { firstRunes, byteLength } from './text.js';

/** What a token is. Everything from `Block` on is a keyword. */
export const T = {
  Error: 0,
  Bool: 1,
  Char: 2,
  CharConstant: 3,
  Complex: 4,
  Assign: 5,
  Declare: 6,
  Eof: 7,
  Field: 8,
  Identifier: 9,
  LeftDelim: 10,
  LeftParen: 11,
  Number: 12,
  Pipe: 13,
  RawString: 14,
  RightDelim: 15,
  RightParen: 16,
  Space: 17,
  String: 18,
  Text: 19,
  Variable: 20,
  Block: 21,
  Break: 22,
  Continue: 23,
  Dot: 24,
  Define: 25,
  Else: 26,
  End: 27,
  If: 28,
  Nil: 29,
  Range: 30,
  Template: 31,
  With: 32,
} as const;

export type TokenType = (typeof T)[keyof typeof T];

export const KEYWORDS: ReadonlyMap<string, TokenType> = new Map<string, TokenType>([
  ['block', T.Block],
  ['break', T.Break],
  ['continue', T.Continue],
  ['define', T.Define],
  ['else', T.Else],
  ['end', T.End],
  ['if', T.If],
  ['nil', T.Nil],
  ['range', T.Range],
  ['template', T.Template],
  ['with', T.With],
]);

/** A piece of the source. */
export interface Token {
  readonly type: TokenType;
  /** Index of its first UTF-16 unit. */
  readonly pos: number;
  /** Its text, or for an error what is wrong. */
  readonly text: string;
  /** The line it starts in. */
  readonly line: number;
}

/** A token as errors name it. */
export function describeToken({ type, text }: Token): string {
  if (type === T.Eof) return 'EOF';
  if (type === T.Error) return text;
  if (type >= T.Block) return `<${text}>`;
  return byteLength(text) > 10 ? `${quote(firstRunes(text, 10))}...` : quote(text);
}

/** True for what an operand can begin with. */
export function startsOperand(type: TokenType): boolean {
  switch (type) {
    case T.Bool:
    case T.CharConstant:
    case T.Complex:
    case T.Dot:
    case T.Field:
    case T.Identifier:
    case T.Number:
    case T.Nil:
    case T.RawString:
    case T.String:
    case T.Variable:
    case T.LeftParen:
      return true;
    default:
      return false;
  }
}
