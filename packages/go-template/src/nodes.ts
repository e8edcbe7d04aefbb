import { quote } from './quote.js';

/** What stands in an action: a value or something that makes one. `pos` is an index into the source. */
export type Expression =
  | PipeNode
  | FieldNode
  | VariableNode
  | ChainNode
  | IdentifierNode
  | NumberNode
  | StringNode
  | { readonly kind: 'bool'; readonly pos: number; readonly value: boolean }
  | { readonly kind: 'dot'; readonly pos: number }
  | { readonly kind: 'nil'; readonly pos: number };

/** `command | command`, with the variables that it declares or sets. */
export interface PipeNode {
  readonly kind: 'pipe';
  readonly pos: number;
  /** `=` and not `:=`. */
  isAssign: boolean;
  readonly declarations: VariableNode[];
  readonly commands: CommandNode[];
}

/** A value alone, or a function and its arguments. */
export interface CommandNode {
  readonly kind: 'command';
  readonly pos: number;
  readonly args: Expression[];
}

/** `.a.b` */
export interface FieldNode {
  readonly kind: 'field';
  readonly pos: number;
  readonly path: readonly string[];
}

/** `$x.a.b` */
export interface VariableNode {
  readonly kind: 'variable';
  readonly pos: number;
  /** With its dollar sign. */
  readonly name: string;
  readonly path: readonly string[];
}

/** `(pipeline).a.b` or `function.a.b` */
export interface ChainNode {
  readonly kind: 'chain';
  readonly pos: number;
  readonly node: Expression;
  readonly path: readonly string[];
}

/** The name of a function. */
export interface IdentifierNode {
  readonly kind: 'identifier';
  readonly pos: number;
  readonly name: string;
}

/** A number under every type that can hold it. */
export interface NumberNode {
  readonly kind: 'number';
  readonly pos: number;
  readonly text: string;
  readonly int: bigint | undefined;
  readonly uint: bigint | undefined;
  readonly float: number | undefined;
  readonly complex: readonly [number, number] | undefined;
}

/** A text in quotes. */
export interface StringNode {
  readonly kind: 'string';
  readonly pos: number;
  /** As it stands in the source. */
  readonly quoted: string;
  readonly value: string;
}

/** What is outside of all actions. */
export interface TextNode {
  readonly kind: 'text';
  readonly pos: number;
  readonly text: string;
}

/** `{{pipeline}}` */
export interface ActionNode {
  readonly kind: 'action';
  readonly pos: number;
  readonly pipe: PipeNode;
}

/** `if`, `with` and `range`; `else if` is another branch inside `otherwise`. */
export interface BranchNode {
  readonly kind: 'if' | 'with' | 'range';
  readonly pos: number;
  readonly pipe: PipeNode;
  readonly list: Statement[];
  readonly otherwise: Statement[] | undefined;
}

/** `{{template}}`, and what a `{{block}}` leaves behind. */
export interface TemplateNode {
  readonly kind: 'template';
  readonly pos: number;
  readonly name: string;
  readonly pipe: PipeNode | undefined;
}

/** `{{break}}` and `{{continue}}` */
export interface JumpNode {
  readonly kind: 'break' | 'continue';
  readonly pos: number;
}

/** What a template is a list of. */
export type Statement = TextNode | ActionNode | BranchNode | TemplateNode | JumpNode;

function printPipe({ declarations, commands }: PipeNode): string {
  // Go prints `:=` for assignments too.
  const names = declarations.length === 0 ? '' : `${declarations.map(printNode).join(', ')} := `;
  return names + commands.map(printNode).join(' | ');
}

function printOperand(node: Expression): string {
  return node.kind === 'pipe' ? `(${printPipe(node)})` : printNode(node);
}

/** A node as errors show it: printed anew, not cut out of the source. */
export function printNode(node: Expression | CommandNode | TemplateNode): string {
  switch (node.kind) {
    case 'pipe':
      return printPipe(node);
    case 'command':
      return node.args.map(printOperand).join(' ');
    case 'field':
      return `.${node.path.join('.')}`;
    case 'variable':
      return [node.name, ...node.path].join('.');
    case 'chain':
      return [printOperand(node.node), ...node.path].join('.');
    case 'identifier':
      return node.name;
    case 'number':
      return node.text;
    case 'string':
      return node.quoted;
    case 'bool':
      return String(node.value);
    case 'dot':
      return '.';
    case 'nil':
      return 'nil';
    case 'template':
      return `{{template ${quote(node.name)}${node.pipe === undefined ? '' : ` ${printPipe(node.pipe)}`}}}`;
  }
}

/** What can only be the first command of a pipeline. */
export function isLiteral(node: Expression | undefined): boolean {
  switch (node?.kind) {
    case 'bool':
    case 'dot':
    case 'nil':
    case 'number':
    case 'string':
      return true;
    default:
      return false;
  }
}
