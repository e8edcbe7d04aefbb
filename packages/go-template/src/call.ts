import { BUILTINS } from './builtins.js';
import type { Callable, InnerType } from './function.js';
import type { Evaluate, EvaluateCommand, Machine } from './machine.js';
import { printNode, type CommandNode, type Expression, type IdentifierNode } from './nodes.js';
import { BOXED, isTrue, kindOf, typeName } from './value.js';

/** The functions of the caller by name; they come before the builtins. */
export type Functions = ReadonlyMap<string, Callable>;

/** A call in the source. */
export interface CallSite {
  readonly node: IdentifierNode;
  /** What an error of the function is blamed on. */
  readonly blamed: CommandNode | IdentifierNode;
  readonly args: readonly Expression[];
  /** True if the pipeline's last value is one more argument. */
  readonly hasFinal: boolean;
}

const GO_TYPES: Readonly<Record<InnerType, string>> = {
  any: 'interface {}',
  value: 'reflect.Value',
  string: 'string',
  bool: 'bool',
  int: 'int',
  float64: 'float64',
};

/** How errors call a constant of a type. */
const CONSTANTS: Readonly<Record<InnerType, string>> = {
  any: 'value',
  value: 'value',
  string: 'string',
  bool: 'bool',
  int: 'integer',
  float64: 'float',
};

/** The JavaScript type of a parameter's values, where it takes one type only. */
const JS_TYPES: Readonly<Record<InnerType, string | undefined>> = {
  any: undefined,
  value: undefined,
  string: 'string',
  bool: 'boolean',
  int: 'bigint',
  float64: 'number',
};

/** The value as an argument of a type, or Go's error. */
function validate(machine: Machine, value: unknown, type: InnerType): unknown {
  if (type === 'value') return value;
  const kind = kindOf(value);
  if (type === 'any') return kind === 'invalid' ? null : value;
  if (typeof value === JS_TYPES[type]) return value;
  if (kind === 'invalid') return machine.fail(`invalid value; expected ${GO_TYPES[type]}`);
  return machine.fail(`wrong type for value; expected ${GO_TYPES[type]}; got ${typeName(value)}`);
}

/** What a constant is as an argument of a type. */
function constant(node: Expression, type: InnerType): unknown {
  switch (node.kind) {
    case 'string':
      return type === 'string' ? node.value : undefined;
    case 'bool':
      return type === 'bool' ? node.value : undefined;
    case 'number':
      return type === 'int' ? node.int : type === 'float64' ? node.float : undefined;
    default:
      return undefined;
  }
}

function compileConstant(node: Expression, type: InnerType): Evaluate {
  const value = constant(node, type);
  const problem =
    node.kind === 'nil'
      ? `cannot assign nil to ${GO_TYPES[type]}`
      : `expected ${CONSTANTS[type]}; found ${printNode(node)}`;
  return (machine) => {
    machine.node = node;
    return value === undefined ? machine.fail(problem) : value;
  };
}

/** Compiles a node that stands alone; handed in, since operands hold calls and calls hold operands. */
type CompileOperand = (node: Expression, functions: Functions) => Evaluate;

/** An argument that becomes a value of a type. */
function compileArgument(node: Expression, type: InnerType, operandOf: (node: Expression) => Evaluate): Evaluate {
  const open = type === 'any' || type === 'value';
  switch (node.kind) {
    case 'nil': {
      if (!open) return compileConstant(node, type);
      const value = type === 'any' ? null : undefined;
      return (machine) => {
        machine.node = node;
        return value;
      };
    }
    case 'number':
    case 'string':
    case 'bool':
      return open ? operandOf(node) : compileConstant(node, type);
    default: {
      const operand = operandOf(node);
      return type === 'value' ? operand : (machine) => validate(machine, operand(machine), type);
    }
  }
}

function arityProblem(name: string, { parameters, variadic }: Callable, given: number, hasFinal: boolean): string {
  const count = given + (hasFinal ? 1 : 0);
  const wanted = parameters.length;
  if (variadic === undefined)
    return count === wanted ? '' : `wrong number of args for ${name}: want ${wanted} got ${count}`;
  return count >= wanted ? '' : `wrong number of args for ${name}: want at least ${wanted} got ${given}`;
}

/** Compiles a call of a function that is known to exist. */
export function compileCall(site: CallSite, functions: Functions, compileOperand: CompileOperand): EvaluateCommand {
  const { node, args, hasFinal } = site;
  const own = functions.get(node.name);
  const callee = own ?? BUILTINS.get(node.name);
  if (callee === undefined) throw new Error(`${node.name} is no function`);
  const problem = arityProblem(node.name, callee, args.length, hasFinal);
  if (problem !== '') {
    return (machine) => {
      machine.node = node;
      return machine.fail(problem);
    };
  }
  const typeOf = (index: number): InnerType => callee.parameters[index] ?? callee.variadic ?? 'any';
  const operandOf = (arg: Expression): Evaluate => compileOperand(arg, functions);
  const compiled = args.map((arg, index) => compileArgument(arg, typeOf(index), operandOf));
  if (own === undefined && (node.name === 'and' || node.name === 'or')) return compileLogic(site, compiled);
  if (own === undefined && node.name === 'call') return compileCallOfValue(site, compiled);
  const shown =
    own === undefined && node.name === 'slice' ? compiled.map((arg, index) => boxIndex(args, arg, index)) : compiled;
  return compilePlainCall(site, callee, shown, typeOf(args.length));
}

/** Go's `slice` takes no index out of an interface, so it refuses what a field gives. */
function boxIndex(nodes: readonly Expression[], evaluate: Evaluate, index: number): Evaluate {
  const node = nodes[index];
  if (index === 0 || node === undefined) return evaluate;
  return (machine) => {
    const value = evaluate(machine);
    return value !== undefined && isBoxed(node, machine) ? BOXED : value;
  };
}

function isBoxed(node: Expression, machine: Machine): boolean {
  switch (node.kind) {
    case 'field':
    case 'chain':
      return true;
    case 'variable':
      return node.path.length > 0 || machine.boxedAt(machine.find(node.name));
    case 'dot':
      return machine.boxed;
    default:
      return false;
  }
}

function compilePlainCall(
  site: CallSite,
  callee: Callable,
  args: readonly Evaluate[],
  finalType: InnerType,
): EvaluateCommand {
  const { node, blamed, hasFinal } = site;
  const { name } = node;
  return (machine, final) => {
    machine.step();
    machine.node = node;
    const values: unknown[] = [];
    for (const arg of args) values.push(arg(machine));
    if (hasFinal) values.push(validate(machine, final, finalType));
    for (const value of values) if (typeof value === 'string') machine.spendText(value.length);
    let result: unknown;
    try {
      result = callee.call(values, machine);
    } catch (error) {
      machine.node = blamed;
      return machine.failCall(name, error);
    }
    if (typeof result === 'string') machine.spendText(result.length);
    return result;
  };
}

/** `and` and `or` look at no more arguments than they need. */
function compileLogic({ node, hasFinal }: CallSite, args: readonly Evaluate[]): EvaluateCommand {
  const deciding = node.name === 'or';
  return (machine, final) => {
    machine.step();
    machine.node = node;
    let value: unknown;
    for (const arg of args) {
      value = arg(machine);
      if (isTrue(value) === deciding) return value;
    }
    return hasFinal ? final : value;
  };
}

/** `call` can only fail: no value here is a function. */
function compileCallOfValue({ node, blamed, args: [named] }: CallSite, args: readonly Evaluate[]): EvaluateCommand {
  return (machine, final) => {
    machine.node = node;
    const values = args.map((arg) => arg(machine));
    const value = named === undefined ? final : values[0];
    machine.node = blamed;
    const kind = kindOf(value);
    if (kind === 'invalid' || kind === 'nil') return machine.fail('error calling call: call of nil');
    const type = typeName(value);
    const name = named === undefined ? (typeof value === 'string' ? value : `<${type} Value>`) : printNode(named);
    return machine.fail(`error calling call: non-function ${name} of type ${type}`);
  };
}
