import { BUILTINS } from './builtins.js';
import { compileCall, type Functions } from './call.js';
import type { Evaluate, EvaluateCommand, Machine } from './machine.js';
import {
  printNode,
  type ChainNode,
  type CommandNode,
  type Expression,
  type FieldNode,
  type NumberNode,
  type PipeNode,
  type VariableNode,
} from './nodes.js';
import { GoComplex, kindOf, lookup, typeName } from './value.js';

/** The value of a map's key, or of a chain that ran into nothing before. */
function field(machine: Machine, receiver: unknown, boxed: boolean, name: string): unknown {
  switch (kindOf(receiver)) {
    case 'map': {
      const value = lookup(receiver as object, name);
      return value === undefined ? missing(machine, `map has no entry for key "${name}"`) : value;
    }
    case 'invalid':
      if (machine.program.missingKey === 'error') machine.fail(`nil data; no entry for key "${name}"`);
      return undefined;
    case 'nil':
      return machine.fail(`nil pointer evaluating interface {}.${name}`);
    default:
      return machine.fail(`can't evaluate field ${name} in type ${boxed ? 'interface {}' : typeName(receiver)}`);
  }
}

function missing(machine: Machine, problem: string): unknown {
  switch (machine.program.missingKey) {
    case 'error':
      return machine.fail(problem);
    case 'zero':
      return null;
    default:
      return undefined;
  }
}

/** The end of a chain; arguments are for methods, which no value has. */
function lastField(machine: Machine, receiver: unknown, boxed: boolean, name: string, hasArguments: boolean): unknown {
  if (hasArguments && kindOf(receiver) === 'map') machine.fail(`${name} is not a method but has arguments`);
  return field(machine, receiver, boxed, name);
}

function followPath(
  machine: Machine,
  start: unknown,
  boxed: boolean,
  path: readonly string[],
  hasArguments: boolean,
): unknown {
  let value = start;
  let inside = boxed;
  const last = path.length - 1;
  for (let i = 0; i < last; i += 1) {
    value = field(machine, value, inside, path[i] as string);
    inside = true;
  }
  return lastField(machine, value, inside, path[last] as string, hasArguments);
}

export function compileField(node: FieldNode, hasArguments: boolean): Evaluate {
  const { path } = node;
  return (machine) => {
    machine.node = node;
    return followPath(machine, machine.dot, machine.boxed, path, hasArguments);
  };
}

export function compileVariable(node: VariableNode, hasArguments: boolean): Evaluate {
  const { name, path } = node;
  if (path.length > 0) {
    return (machine) => {
      machine.node = node;
      const index = machine.find(name);
      return followPath(machine, machine.valueAt(index), machine.boxedAt(index), path, hasArguments);
    };
  }
  return (machine) => {
    machine.node = node;
    const value = machine.valueAt(machine.find(name));
    if (hasArguments) machine.fail(`can't give argument to non-function ${printNode(node)}`);
    return value;
  };
}

export function compileChain(node: ChainNode, hasArguments: boolean, functions: Functions): Evaluate {
  const { path } = node;
  const start = compileOperand(node.node, functions);
  return (machine) => {
    machine.node = node;
    return followPath(machine, start(machine), false, path, hasArguments);
  };
}

/** The value of a number where nothing says which type it should have. */
function idealConstant(node: NumberNode): Evaluate {
  const value = constantValue(node);
  if (value === undefined) {
    return (machine) => {
      machine.node = node;
      return machine.fail(`${node.text} overflows int`);
    };
  }
  return (machine) => {
    machine.node = node;
    return value;
  };
}

function constantValue({ text, int, float, complex }: NumberNode): bigint | number | GoComplex | undefined {
  if (complex !== undefined) return new GoComplex(...complex);
  const hexadecimalInt = /^0[xX][^pP]+$/.test(text);
  if (float !== undefined && !hexadecimalInt && !text.startsWith("'") && /[.eEpP]/.test(text)) return float;
  return int;
}

/** A value that stands alone, whatever type is wanted. */
export function compileOperand(node: Expression, functions: Functions): Evaluate {
  switch (node.kind) {
    case 'pipe': {
      const pipe = compilePipe(node, functions);
      return (machine) => {
        machine.node = node;
        return pipe(machine);
      };
    }
    case 'field':
      return compileField(node, false);
    case 'variable':
      return compileVariable(node, false);
    case 'chain':
      return compileChain(node, false, functions);
    case 'identifier': {
      const call = compileCall({ node, blamed: node, args: [], hasFinal: false }, functions, compileOperand);
      return (machine) => call(machine, undefined);
    }
    case 'number':
      return idealConstant(node);
    case 'dot':
      return (machine) => {
        machine.node = node;
        return machine.dot;
      };
    case 'nil':
      return () => undefined;
    default: {
      const { value } = node;
      return (machine) => {
        machine.node = node;
        return value;
      };
    }
  }
}

function compileCommand(
  pipe: PipeNode,
  command: CommandNode,
  hasFinal: boolean,
  functions: Functions,
): EvaluateCommand {
  const [first, ...args] = command.args as [Expression, ...Expression[]];
  const hasArguments = args.length > 0 || hasFinal;
  switch (first.kind) {
    case 'identifier':
      return compileCall({ node: first, blamed: command, args, hasFinal }, functions, compileOperand);
    case 'field':
      return compileField(first, hasArguments);
    case 'chain':
      return compileChain(first, hasArguments, functions);
    case 'variable':
      return compileVariable(first, hasArguments);
    default: {
      if (hasArguments)
        return refuse(first.kind === 'pipe' ? pipe : first, `can't give argument to non-function ${printNode(first)}`);
      if (first.kind === 'nil') return refuse(first, 'nil is not a command');
      return compileOperand(first, functions);
    }
  }
}

function refuse(node: Expression, problem: string): EvaluateCommand {
  return (machine) => {
    machine.node = node;
    return machine.fail(problem);
  };
}

/** Go looks into an interface at the end of a command: a nil one is no value. */
function unwrap(value: unknown): unknown {
  return value === null ? undefined : value;
}

/** Compiles a pipeline with its declarations. */
export function compilePipe(pipe: PipeNode, functions: Functions): Evaluate {
  const commands = pipe.commands.map((command, index) => compileCommand(pipe, command, index > 0, functions));
  const [first] = commands;
  const value: Evaluate =
    commands.length === 1 && first !== undefined
      ? (machine) => unwrap(first(machine, undefined))
      : (machine) => {
          let result: unknown;
          for (const command of commands) result = unwrap(command(machine, result));
          return result;
        };
  if (pipe.declarations.length === 0) return value;
  const names = pipe.declarations.map(({ name }) => name);
  const { isAssign } = pipe;
  return (machine) => {
    const result = value(machine);
    for (const name of names) {
      if (isAssign) machine.set(machine.find(name), result, false);
      else machine.push(name, result);
    }
    return result;
  };
}

/** True for what a template may call. */
export function isFunction(name: string, functions: Functions): boolean {
  return functions.has(name) || BUILTINS.has(name);
}
