import type { RenderBudget } from './budget.js';
import { GoTemplateError } from './errors.js';
import type { GoValue } from './value.js';

/**
 * What a parameter takes: `any` is `interface {}` (a missing value arrives as null), the others are Go's types of that
 * name and refuse everything else with Go's words.
 */
export type ParameterType = 'any' | 'string' | 'bool' | 'int' | 'float64';

/** A function that templates can call. */
export interface TemplateFunction {
  /** Types of the parameters that every call has. */
  readonly parameters: readonly ParameterType[];
  /** Type of all further arguments; without it there are none. */
  readonly variadic?: ParameterType;
  /**
   * Makes the result. What it throws ends the execution as `error calling NAME: message`. A function whose work grows
   * with its arguments reports it to the budget.
   */
  readonly call: (args: readonly GoValue[], budget: RenderBudget) => GoValue;
}

/** Functions by the name that templates call them by. */
export type TemplateFunctions = Readonly<Record<string, TemplateFunction>>;

/** `value` is Go's `reflect.Value`, in which a missing value stays missing; only builtins have such parameters. */
export type InnerType = ParameterType | 'value';

/** A function as the compiler sees it. */
export interface Callable {
  readonly parameters: readonly InnerType[];
  readonly variadic?: InnerType;
  readonly call: (args: readonly unknown[], budget: RenderBudget) => unknown;
}

const NAME = /^[\p{L}_][\p{L}\p{Nd}_]*$/u;
const TYPES: ReadonlySet<unknown> = new Set<ParameterType>(['any', 'string', 'bool', 'int', 'float64']);

function refuse(name: string, problem: string): never {
  throw new GoTemplateError('ERR_GO_TEMPLATE_ARGUMENT', `Expected \`functions[${JSON.stringify(name)}]\` ${problem}`, {
    details: { function: name },
  });
}

function toCallable(name: string, entry: TemplateFunction): Callable {
  if (!NAME.test(name)) refuse(name, 'to be named by an identifier: a letter or underscore, then letters or digits');
  if (
    typeof entry !== 'object' ||
    entry === null ||
    typeof entry.call !== 'function' ||
    !Array.isArray(entry.parameters)
  ) {
    refuse(name, `to be { parameters, call }, got \`${String(entry)}\` (${typeof entry})`);
  }
  for (const type of [...entry.parameters, entry.variadic ?? 'any']) {
    if (!TYPES.has(type)) refuse(name, `to have parameters of type ${[...TYPES].join(', ')}, got \`${String(type)}\``);
  }
  return entry as Callable;
}

/** Checks functions and brings them into one form. */
export function toCallables(functions: TemplateFunctions): ReadonlyMap<string, Callable> {
  const callables = new Map<string, Callable>();
  for (const name of Object.keys(functions)) {
    const entry = functions[name];
    if (entry !== undefined) callables.set(name, toCallable(name, entry));
  }
  return callables;
}
