import { GoTemplateError } from './errors.js';
import { Lexer } from './lex.js';
import {
  isLiteral,
  printNode,
  type BranchNode,
  type CommandNode,
  type Expression,
  type PipeNode,
  type Statement,
} from './nodes.js';
import { numberNode } from './number.js';
import { quote, unquote } from './quote.js';
import { Scope } from './scope.js';
import { TokenStream } from './token-stream.js';
import { describeToken, startsOperand, T, type Token, type TokenType } from './token.js';

/** The trees of a source by template name; the source's own is among them. */
export type Trees = ReadonlyMap<string, readonly Statement[]>;

/** What ends a list: `{{end}}`, or `{{else}}` with the word that follows still unread. */
type Terminator = 'end' | 'else';

/** JavaScript's stack bears no more; Go allows 10,000 parentheses and has no limit for blocks. */
const MAX_PARENS = 1000;
const MAX_BLOCKS = 1000;
const MAX_PIPELINE_COMMANDS = 100_000;

/** Go's white space; JavaScript's differs by U+0085 and U+FEFF. */
const BLANK = /^[\t\n\v\f\r \u0085\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]*$/;

function isBlank(list: readonly Statement[]): boolean {
  return list.every((statement) => statement.kind === 'text' && BLANK.test(statement.text));
}

/** Reads one source. */
export class Parser {
  readonly #name: string;
  readonly #isFunction: (name: string) => boolean;
  readonly #trees = new Map<string, readonly Statement[]>();
  readonly #tokens: TokenStream;
  #actionLine = 0;
  #parens = 0;
  #blocks = 0;
  #scope = new Scope();

  constructor(name: string, source: string, isFunction: (name: string) => boolean) {
    this.#name = name;
    this.#isFunction = isFunction;
    this.#tokens = new TokenStream(
      new Lexer(source, { breakIsFunction: isFunction('break'), continueIsFunction: isFunction('continue') }),
    );
  }

  /** Reads the whole source. */
  parse(): Trees {
    const list: Statement[] = [];
    while (this.#tokens.peek().type !== T.Eof) {
      if (this.#tokens.peek().type === T.LeftDelim) {
        const delimiter = this.#tokens.next();
        if (this.#tokens.nextNonSpace().type === T.Define) {
          this.#definition();
          continue;
        }
        this.#tokens.backup2(delimiter);
      }
      const statement = this.#textOrAction();
      if (typeof statement === 'string') this.#fail(`unexpected {{${statement}}}`);
      list.push(statement);
    }
    this.#add(this.#name, list);
    return this.#trees;
  }

  #fail(problem: string): never {
    const { line } = this.#tokens;
    throw new GoTemplateError('ERR_GO_TEMPLATE_PARSE', `template: ${this.#name}:${line}: ${problem}`, {
      line,
      details: { template: this.#name, problem },
    });
  }

  #unexpected(token: Token, context: string): never {
    if (token.type !== T.Error) this.#fail(`unexpected ${describeToken(token)} in ${context}`);
    let extra = '';
    if (this.#actionLine !== 0 && this.#actionLine !== token.line) {
      const started = `started at ${this.#name}:${this.#actionLine}`;
      extra = token.text.endsWith(' action') ? ` ${started}` : ` in action ${started}`;
    }
    this.#fail(token.text + extra);
  }

  #expect(type: TokenType, context: string): Token {
    const token = this.#tokens.nextNonSpace();
    if (token.type !== type) this.#unexpected(token, context);
    return token;
  }

  #add(name: string, list: readonly Statement[]): void {
    const known = this.#trees.get(name);
    if (known === undefined || isBlank(known)) this.#trees.set(name, list);
    else if (!isBlank(list)) this.#fail(`template: multiple definition of template ${quote(name)}`);
  }

  /** A list in a scope of its own, up to its `{{end}}`. */
  #body(context: string): Statement[] {
    const outer = this.#scope;
    const actionLine = this.#actionLine;
    this.#scope = new Scope();
    this.#actionLine = 0;
    const { list, terminator } = this.#itemList();
    if (terminator !== 'end') this.#fail(`unexpected {{${terminator}}} in ${context}`);
    this.#scope = outer;
    this.#actionLine = actionLine;
    return list;
  }

  #definition(): void {
    const context = 'define clause';
    const name = this.#templateName(this.#tokens.nextNonSpace(), context);
    this.#expect(T.RightDelim, context);
    this.#add(name, this.#body(context));
  }

  #itemList(): { list: Statement[]; terminator: Terminator } {
    const list: Statement[] = [];
    while (this.#tokens.peekNonSpace().type !== T.Eof) {
      const statement = this.#textOrAction();
      if (typeof statement === 'string') return { list, terminator: statement };
      list.push(statement);
    }
    this.#fail('unexpected EOF');
  }

  #textOrAction(): Statement | Terminator {
    const token = this.#tokens.nextNonSpace();
    if (token.type === T.Text) return { kind: 'text', pos: token.pos, text: token.text };
    if (token.type !== T.LeftDelim) this.#unexpected(token, 'input');
    this.#actionLine = token.line;
    const statement = this.#action();
    this.#actionLine = 0;
    return statement;
  }

  #action(): Statement | Terminator {
    const token = this.#tokens.nextNonSpace();
    switch (token.type) {
      case T.Block:
        return this.#block();
      case T.Break:
      case T.Continue:
        return this.#jump(token, token.type === T.Break ? 'break' : 'continue');
      case T.Else:
        return this.#else();
      case T.End:
        this.#expect(T.RightDelim, 'end');
        return 'end';
      case T.If:
        return this.#branch('if');
      case T.Range:
        return this.#branch('range');
      case T.Template:
        return this.#template();
      case T.With:
        return this.#branch('with');
      default:
        this.#tokens.backup();
        // No variables are forgotten here: they live until the block's end.
        return { kind: 'action', pos: token.pos, pipe: this.#pipeline('command', T.RightDelim) };
    }
  }

  #jump(token: Token, kind: 'break' | 'continue'): Statement {
    const after = this.#tokens.nextNonSpace();
    if (after.type !== T.RightDelim) this.#unexpected(after, `{{${kind}}}`);
    if (this.#scope.ranges === 0) this.#fail(`{{${kind}}} outside {{range}}`);
    return { kind, pos: token.pos };
  }

  #else(): Terminator {
    const { type } = this.#tokens.peekNonSpace();
    // `{{else if` and `{{else with` go on as if another action began after `else`.
    if (type !== T.If && type !== T.With) this.#expect(T.RightDelim, 'else');
    return 'else';
  }

  #branch(kind: BranchNode['kind']): BranchNode {
    const known = this.#scope.size;
    this.#blocks += 1;
    if (this.#blocks > MAX_BLOCKS) this.#fail(`blocks nested deeper than ${MAX_BLOCKS}`);
    const pipe = this.#pipeline(kind, T.RightDelim);
    if (kind === 'range') this.#scope.ranges += 1;
    const { list, terminator } = this.#itemList();
    if (kind === 'range') this.#scope.ranges -= 1;
    const otherwise = terminator === 'else' ? this.#otherwise(kind) : undefined;
    this.#blocks -= 1;
    this.#scope.shrink(known);
    return { kind, pos: pipe.pos, pipe, list, otherwise };
  }

  #otherwise(kind: BranchNode['kind']): Statement[] {
    const { type } = this.#tokens.peek();
    if ((kind === 'if' && type === T.If) || (kind === 'with' && type === T.With)) {
      this.#tokens.next();
      // The one `{{end}}` of the chain ends this branch too.
      return [this.#branch(kind)];
    }
    const { list, terminator } = this.#itemList();
    if (terminator !== 'end') this.#fail(`expected end; found {{${terminator}}}`);
    return list;
  }

  #block(): Statement {
    const context = 'block clause';
    const token = this.#tokens.nextNonSpace();
    const name = this.#templateName(token, context);
    const pipe = this.#pipeline(context, T.RightDelim);
    this.#add(name, this.#body(context));
    return { kind: 'template', pos: token.pos, name, pipe };
  }

  #template(): Statement {
    const context = 'template clause';
    const token = this.#tokens.nextNonSpace();
    const name = this.#templateName(token, context);
    let pipe: PipeNode | undefined;
    if (this.#tokens.nextNonSpace().type !== T.RightDelim) {
      this.#tokens.backup();
      pipe = this.#pipeline(context, T.RightDelim);
    }
    return { kind: 'template', pos: token.pos, name, pipe };
  }

  #templateName(token: Token, context: string): string {
    if (token.type !== T.String && token.type !== T.RawString) this.#unexpected(token, context);
    return unquote(token.text) ?? this.#fail('invalid syntax');
  }

  #pipeline(context: string, end: TokenType): PipeNode {
    const { pos } = this.#tokens.peekNonSpace();
    const pipe: PipeNode = { kind: 'pipe', pos, isAssign: false, declarations: [], commands: [] };
    this.#declarations(pipe, context);
    for (;;) {
      const token = this.#tokens.nextNonSpace();
      if (token.type === end) break;
      if (!startsOperand(token.type)) this.#unexpected(token, context);
      this.#tokens.backup();
      pipe.commands.push(this.#command());
      if (pipe.commands.length > MAX_PIPELINE_COMMANDS) this.#fail('pipeline too long');
    }
    if (pipe.commands.length === 0) this.#fail(`missing value for ${context}`);
    for (const [index, { args }] of pipe.commands.entries()) {
      if (index > 0 && isLiteral(args[0])) this.#fail(`non executable command in pipeline stage ${index + 1}`);
    }
    return pipe;
  }

  /** Reads `$x :=`, `$x =` and, for a range, `$i, $x :=`. */
  #declarations(pipe: PipeNode, context: string): void {
    for (;;) {
      const variable = this.#tokens.peekNonSpace();
      if (variable.type !== T.Variable) return;
      this.#tokens.next();
      // A variable may just as well be the first operand, so both the space and what follows go back then.
      const adjacent = this.#tokens.peek();
      const following = this.#tokens.peekNonSpace();
      const assigns = following.type === T.Assign || following.type === T.Declare;
      if (!assigns && !(following.type === T.Char && following.text === ',')) {
        if (adjacent.type === T.Space) this.#tokens.backup3(variable, adjacent);
        else this.#tokens.backup2(variable);
        return;
      }
      this.#tokens.nextNonSpace();
      pipe.declarations.push({ kind: 'variable', pos: variable.pos, name: variable.text, path: [] });
      this.#scope.declare(variable.text);
      if (assigns) {
        pipe.isAssign = following.type === T.Assign;
        return;
      }
      if (context !== 'range' || pipe.declarations.length >= 2) this.#fail(`too many declarations in ${context}`);
      const { type } = this.#tokens.peekNonSpace();
      if (type !== T.Variable && type !== T.RightDelim && type !== T.RightParen) {
        this.#fail('range can only initialize variables');
      }
    }
  }

  #command(): CommandNode {
    const command: CommandNode = { kind: 'command', pos: this.#tokens.peekNonSpace().pos, args: [] };
    for (;;) {
      this.#tokens.peekNonSpace();
      const operand = this.#operand();
      if (operand !== undefined) command.args.push(operand);
      const token = this.#tokens.next();
      if (token.type === T.Space) continue;
      if (token.type === T.RightDelim || token.type === T.RightParen) this.#tokens.backup();
      else if (token.type !== T.Pipe) this.#unexpected(token, 'operand');
      break;
    }
    if (command.args.length === 0) this.#fail('empty command');
    return command;
  }

  #operand(): Expression | undefined {
    const node = this.#term();
    const { type, pos } = node === undefined ? { type: T.Eof, pos: 0 } : this.#tokens.peek();
    if (node === undefined || type !== T.Field) return node;
    const fields: string[] = [];
    while (this.#tokens.peek().type === T.Field) fields.push(this.#tokens.next().text.slice(1));
    switch (node.kind) {
      case 'field':
        return { kind: 'field', pos, path: [...node.path, ...fields] };
      case 'variable':
        return { kind: 'variable', pos, name: node.name, path: [...node.path, ...fields] };
      case 'pipe':
      case 'identifier':
        return { kind: 'chain', pos, node, path: fields };
      default:
        this.#fail(`unexpected . after term ${quote(printNode(node))}`);
    }
  }

  #term(): Expression | undefined {
    const token = this.#tokens.nextNonSpace();
    const { type, text, pos } = token;
    switch (type) {
      case T.Identifier:
        if (!this.#isFunction(text)) this.#fail(`function ${quote(text)} not defined`);
        return { kind: 'identifier', pos, name: text };
      case T.Dot:
        return { kind: 'dot', pos };
      case T.Nil:
        return { kind: 'nil', pos };
      case T.Variable:
        if (!this.#scope.knows(text)) this.#fail(`undefined variable ${quote(text)}`);
        return { kind: 'variable', pos, name: text, path: [] };
      case T.Field:
        return { kind: 'field', pos, path: [text.slice(1)] };
      case T.Bool:
        return { kind: 'bool', pos, value: text === 'true' };
      case T.CharConstant:
      case T.Complex:
      case T.Number: {
        const node = numberNode(token);
        return typeof node === 'string' ? this.#fail(node) : node;
      }
      case T.LeftParen:
        return this.#parenthesized();
      case T.String:
      case T.RawString:
        return { kind: 'string', pos, quoted: text, value: unquote(text) ?? this.#fail('invalid syntax') };
      default:
        this.#tokens.backup();
        return undefined;
    }
  }

  #parenthesized(): PipeNode {
    if (this.#parens >= MAX_PARENS) this.#fail('max expression depth exceeded');
    this.#parens += 1;
    const pipe = this.#pipeline('parenthesized pipeline', T.RightParen);
    this.#parens -= 1;
    return pipe;
  }
}
