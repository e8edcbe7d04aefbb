import type { Functions } from './call.js';
import { compilePipe } from './evaluate.js';
import { Formatter, integerText } from './format.js';
import { floatText } from './float.js';
import {
  BREAK,
  CONTINUE,
  CONTINUE_ON,
  type Machine,
  MAX_TEMPLATE_DEPTH,
  type Evaluate,
  type Jump,
  type Run,
} from './machine.js';
import type { ActionNode, BranchNode, Statement, TemplateNode } from './nodes.js';
import type { Trees } from './parse.js';
import { sprint } from './printf.js';
import { quote } from './quote.js';
import { element, GoInteger, integerOf, isTrue, kindOf, KEYS_PER_STEP, lookup, sortedKeys } from './value.js';

/** A value as an action prints it. */
function textOf(value: unknown, machine: Machine): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return floatText(value);
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object': {
      if (value === null) return '<no value>';
      if (value instanceof GoInteger) return integerText(value);
      const formatter = new Formatter(machine);
      formatter.print(value, 'v');
      return formatter.text;
    }
    default:
      return '<no value>';
  }
}

function compileAction({ pipe }: ActionNode, functions: Functions): Run {
  const evaluate = compilePipe(pipe, functions);
  if (pipe.declarations.length > 0) {
    return (machine) => {
      evaluate(machine);
      return CONTINUE_ON;
    };
  }
  return (machine) => {
    machine.write(textOf(evaluate(machine), machine));
    return CONTINUE_ON;
  };
}

function compileBranch(node: BranchNode, functions: Functions): Run {
  const evaluate = compilePipe(node.pipe, functions);
  const list = compileList(node.list, functions);
  const otherwise = compileList(node.otherwise ?? [], functions);
  if (node.kind === 'if') {
    return (machine) => {
      const { mark } = machine;
      const jump = isTrue(evaluate(machine)) ? list(machine) : otherwise(machine);
      machine.pop(mark);
      return jump;
    };
  }
  if (node.kind === 'range') return compileRange(node, { evaluate, list, otherwise });
  return (machine) => {
    const { mark } = machine;
    const value = evaluate(machine);
    const jump = isTrue(value) ? runWith(machine, value, false, list) : otherwise(machine);
    machine.pop(mark);
    return jump;
  };
}

/** Runs a list with another dot. */
function runWith(machine: Machine, dot: unknown, boxed: boolean, list: Run): Jump {
  const { dot: outer, boxed: outerBoxed } = machine;
  machine.dot = dot;
  machine.boxed = boxed;
  const jump = list(machine);
  machine.dot = outer;
  machine.boxed = outerBoxed;
  return jump;
}

interface RangeParts {
  readonly evaluate: Evaluate;
  readonly list: Run;
  readonly otherwise: Run;
}

/** One turn of a loop. False ends it. */
type Turn = (machine: Machine, index: unknown, value: unknown, boxed: boolean) => boolean;

function compileTurn({ pipe }: BranchNode, list: Run): Turn {
  const [first, second] = pipe.declarations.map(({ name }) => name);
  const { isAssign } = pipe;
  return (machine, index, value, boxed) => {
    machine.step();
    const { mark } = machine;
    if (first !== undefined && isAssign) {
      if (second === undefined) machine.set(machine.find(first), value, boxed);
      else {
        machine.set(machine.find(first), index, false);
        machine.set(machine.find(second), value, boxed);
      }
    } else if (first !== undefined) {
      // The loop's variables are the youngest on the stack.
      machine.set(mark - 1, value, boxed);
      if (second !== undefined) machine.set(mark - 2, index, false);
    }
    const jump = runWith(machine, value, boxed, list);
    machine.pop(mark);
    return jump !== BREAK;
  };
}

/** Runs over a value; false if there was nothing to run over. */
function iterate(machine: Machine, value: unknown, turn: Turn, variables: number): boolean {
  switch (kindOf(value)) {
    case 'slice': {
      const values = value as readonly unknown[];
      for (let i = 0; i < values.length; i += 1) {
        if (!turn(machine, BigInt(i), element(values[i]), true)) break;
      }
      return values.length > 0;
    }
    case 'map': {
      const map = value as object;
      const keys = sortedKeys(map);
      machine.spend(Math.floor(keys.length / KEYS_PER_STEP));
      for (const key of keys) if (!turn(machine, key, element(lookup(map, key)), true)) break;
      return keys.length > 0;
    }
    case 'int':
    case 'uint':
      return iterateInteger(machine, value, turn, variables);
    case 'invalid':
    case 'nil':
      return false;
    default:
      return machine.fail(`range can't iterate over ${sprint([value], machine)}`);
  }
}

function iterateInteger(machine: Machine, value: unknown, turn: Turn, variables: number): boolean {
  const end = integerOf(value) ?? 0n;
  if (variables > 1) return machine.fail(`can't use ${end} to iterate over more than one variable`);
  const type = value instanceof GoInteger ? value.type : undefined;
  for (let i = 0n; i < end; i += 1n) {
    if (!turn(machine, undefined, type === undefined ? i : new GoInteger(type, i), false)) break;
  }
  return end > 0n;
}

function compileRange(node: BranchNode, { evaluate, list, otherwise }: RangeParts): Run {
  const turn = compileTurn(node, list);
  const variables = node.pipe.declarations.length;
  return (machine) => {
    const { mark } = machine;
    let jump: Jump = CONTINUE_ON;
    if (!iterate(machine, evaluate(machine), turn, variables)) jump = otherwise(machine);
    machine.pop(mark);
    // A `break` in the else list ends this loop, which has no turn to end; a `continue` goes to the loop around it.
    return jump === BREAK ? CONTINUE_ON : jump;
  };
}

function compileTemplate(node: TemplateNode, functions: Functions): Run {
  const { name } = node;
  const evaluate = node.pipe === undefined ? () => undefined : compilePipe(node.pipe, functions);
  return (machine) => {
    machine.node = node;
    const run = machine.program.bodies.get(name);
    if (run === undefined) return machine.fail(`template ${quote(name)} not defined`);
    if (machine.depth >= MAX_TEMPLATE_DEPTH) {
      machine.fail(`exceeded maximum template depth (${MAX_TEMPLATE_DEPTH})`, undefined, 'ERR_GO_TEMPLATE_DEPTH');
    }
    machine.call(name, run, evaluate(machine));
    return CONTINUE_ON;
  };
}

function compileStatement(node: Statement, functions: Functions): Run {
  switch (node.kind) {
    case 'text': {
      const { text } = node;
      return (machine) => {
        machine.write(text);
        return CONTINUE_ON;
      };
    }
    case 'action':
      return compileAction(node, functions);
    case 'template':
      return compileTemplate(node, functions);
    case 'break':
      return () => BREAK;
    case 'continue':
      return () => CONTINUE;
    default:
      return compileBranch(node, functions);
  }
}

function compileList(list: readonly Statement[], functions: Functions): Run {
  const runs = list.map((node) => compileStatement(node, functions));
  return (machine) => {
    for (const run of runs) {
      machine.step();
      const jump = run(machine);
      if (jump !== CONTINUE_ON) return jump;
    }
    return CONTINUE_ON;
  };
}

/** Compiles every template of a source. */
export function compileTrees(trees: Trees, functions: Functions): ReadonlyMap<string, Run> {
  const bodies = new Map<string, Run>();
  for (const [name, list] of trees) bodies.set(name, compileList(list, functions));
  return bodies;
}
