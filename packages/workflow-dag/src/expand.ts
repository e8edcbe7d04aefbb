import { extraFunctions, parseTemplate } from '@thv/go-template';
import { WorkflowError } from './errors.js';

/** What one rendering may cost. */
export interface RenderBudget {
  readonly maxOutputBytes: number;
  readonly maxSteps: number;
}

type Template = ReturnType<typeof parseTemplate>;
type Functions = NonNullable<NonNullable<Parameters<typeof parseTemplate>[1]>['functions']>;

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Renders templates and remembers the parsed ones. Two generations instead of a list in order of use: an entry that is
 * used again moves to the young one, and a full young generation replaces the old one.
 */
export class Templates {
  readonly #budget: RenderBudget;
  readonly #functions: Functions;
  readonly #half: number;
  #young = new Map<string, Template>();
  #old = new Map<string, Template>();

  constructor(budget: RenderBudget, options: { readonly capacity?: number; readonly functions?: Functions } = {}) {
    this.#budget = budget;
    this.#half = Math.max(1, Math.floor((options.capacity ?? 1000) / 2));
    this.#functions = options.functions ?? extraFunctions;
  }

  /**
   * Renders a template.
   *
   * @throws `WorkflowError` `ERR_WORKFLOW_DAG_TEMPLATE`
   */
  render(source: string, data: unknown): string {
    // Text without an action is its own rendering, whatever else is in it.
    if (!source.includes('{{')) return source;
    let template: Template;
    try {
      template = this.#get(source);
    } catch (error) {
      throw new WorkflowError('ERR_WORKFLOW_DAG_TEMPLATE', `failed to parse template: ${message(error)}`, {
        cause: error,
      });
    }
    try {
      return template.execute(data, this.#budget);
    } catch (error) {
      throw new WorkflowError('ERR_WORKFLOW_DAG_TEMPLATE', `failed to execute template: ${message(error)}`, {
        cause: error,
      });
    }
  }

  #get(source: string): Template {
    let template = this.#young.get(source);
    if (template !== undefined) return template;
    template = this.#old.get(source) ?? parseTemplate(source, { name: 'expand', functions: this.#functions });
    if (this.#young.size >= this.#half) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(source, template);
    return template;
  }
}

/** Arguments may be nested this deep. */
const MAX_DEPTH = 100;

/**
 * Expands all text inside a value, at any depth; keys and other values stay as they are. Where nothing is to expand, the
 * value itself is the answer.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_TEMPLATE` that names the place.
 */
export function expandValue(templates: Templates, value: unknown, data: unknown, depth = 0): unknown {
  if (typeof value === 'string') return templates.render(value, data);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) {
    throw new WorkflowError('ERR_WORKFLOW_DAG_TEMPLATE', `template expansion depth limit exceeded: ${MAX_DEPTH}`);
  }
  return Array.isArray(value)
    ? expandArray(templates, value, data, depth)
    : expandObject(templates, value, data, depth);
}

function expandArray(
  templates: Templates,
  array: readonly unknown[],
  data: unknown,
  depth: number,
): readonly unknown[] {
  return array.map((item, index) => {
    try {
      return expandValue(templates, item, data, depth + 1);
    } catch (error) {
      throw inside(`failed to expand array element ${index}`, error);
    }
  });
}

function expandObject(templates: Templates, object: object, data: unknown, depth: number): Record<string, unknown> {
  const expanded = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    try {
      expanded[key] = expandValue(templates, (object as Record<string, unknown>)[key], data, depth + 1);
    } catch (error) {
      throw inside(`failed to expand ${depth === 0 ? 'value for key' : 'nested key'} "${key}"`, error);
    }
  }
  return expanded;
}

/** The same error, told from further out. */
function inside(place: string, error: unknown): WorkflowError {
  return new WorkflowError('ERR_WORKFLOW_DAG_TEMPLATE', `${place}: ${message(error)}`, {
    cause: error instanceof WorkflowError ? error.cause : error,
  });
}
