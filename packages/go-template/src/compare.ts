import type { RenderBudget } from './budget.js';
import { sprintf } from './printf.js';
import { compareText } from './text.js';
import { GoComplex, integerOf, kindOf, NilMap, typeName, type Kind } from './value.js';

/** Kinds that can be compared; Go's signed and unsigned integers can, with each other too. */
type Basic = 'bool' | 'int' | 'float' | 'complex' | 'string' | undefined;

function basicKind(kind: Kind): Basic {
  switch (kind) {
    case 'bool':
    case 'float':
    case 'complex':
    case 'string':
    case 'int':
      return kind;
    case 'uint':
      return 'int';
    default:
      return undefined;
  }
}

function isMissing(value: unknown): boolean {
  const kind = kindOf(value);
  return kind === 'invalid' || kind === 'nil';
}

function incompatible(left: unknown, right: unknown): never {
  throw new Error(`incompatible types for comparison: ${typeName(left)} and ${typeName(right)}`);
}

function sameBasic(left: unknown, right: unknown, kind: Basic): boolean {
  if (kind === 'int') return integerOf(left) === integerOf(right);
  if (left instanceof GoComplex && right instanceof GoComplex) {
    return left.real === right.real && left.imaginary === right.imaginary;
  }
  return left === right;
}

/** Equality of values that are no basic ones: only with nil. */
function sameReference(left: unknown, right: unknown, budget: RenderBudget): boolean {
  const missing = [isMissing(left), isMissing(right)] as const;
  if (!missing[0] && !missing[1] && kindOf(left) !== kindOf(right)) {
    const types = [typeName(left), typeName(right)];
    throw new Error(sprintf('non-comparable types %s: %v, %s: %v', [left, types[0], types[1], right], budget));
  }
  const nil = [missing[0] || left instanceof NilMap, missing[1] || right instanceof NilMap] as const;
  if (nil[0] || nil[1]) return nil[0] === nil[1];
  throw new Error(sprintf('non-comparable type %s: %v', [right, typeName(right)], budget));
}

/** True if the first value equals any of the others. */
export function equal(left: unknown, others: readonly unknown[], budget: RenderBudget): boolean {
  if (others.length === 0) throw new Error('missing argument for comparison');
  const kind = basicKind(kindOf(left));
  for (const right of others) {
    const other = basicKind(kindOf(right));
    if (kind !== other) {
      if (!isMissing(left) && !isMissing(right)) incompatible(left, right);
    } else if (kind === undefined ? sameReference(left, right, budget) : sameBasic(left, right, kind)) return true;
  }
  return false;
}

/** True if the first value is less than the second. */
export function less(left: unknown, right: unknown): boolean {
  const kind = basicKind(kindOf(left));
  const other = basicKind(kindOf(right));
  if (kind === undefined || other === undefined) throw new Error('invalid type for comparison');
  if (kind !== other) incompatible(left, right);
  switch (kind) {
    case 'int':
      return (integerOf(left) ?? 0n) < (integerOf(right) ?? 0n);
    case 'float':
      return (left as number) < (right as number);
    case 'string':
      return compareText(left as string, right as string) < 0;
    default:
      throw new Error('invalid type for comparison');
  }
}
