import { extraFunctions, GoTemplateError, parseTemplate, type TemplateFunctions } from '@thv/go-template';
import { LIMITS, type OutputProperty, type ToolCallConfig } from '../definition.js';
import { extendedFunctions } from '../extended-functions.js';
import type { RuleId } from '../issue.js';
import { isObject } from '../json.js';
import type { Cursor } from '../parse/cursor.js';
import type { PlacedStep, ValidationContext } from './context.js';
import { analyse, type Analysis } from './reads.js';

/** A template of a definition and what it reads. */
export interface TemplateUse {
  readonly cursor: Cursor;
  readonly source: string;
  readonly role: 'condition' | 'argument' | 'message' | 'collection' | 'output' | 'transform' | 'cache';
  /** `undefined`: the output of the workflow. */
  readonly owner: PlacedStep | undefined;
  /** The reference implementation checks what it reads, too. */
  readonly checkedByGo: boolean;
  readonly analysis: Analysis;
}

/** Parses every template of a definition, reports what does not parse, and answers the others. */
export function checkTemplates({ definition, root, steps }: ValidationContext): TemplateUse[] {
  const collector = new Collector();
  for (const placed of steps) collector.step(placed);
  const { output } = definition;
  if (output !== undefined) {
    const target = { role: 'output', owner: undefined, checkedByGo: true } as const;
    collector.properties(root.get('output').get('properties'), output.properties, target, extraFunctions);
  }
  return collector.uses;
}

type Target = Pick<TemplateUse, 'role' | 'owner' | 'checkedByGo'>;

class Collector {
  readonly uses: TemplateUse[] = [];

  step(placed: PlacedStep): void {
    const { step, cursor } = placed;
    this.#text(cursor.get('condition'), { role: 'condition', owner: placed, checkedByGo: true });
    if (step.type === 'elicitation') {
      this.#text(cursor.get('message'), { role: 'message', owner: placed, checkedByGo: true });
    } else if (step.type === 'forEach') {
      this.#text(cursor.get('collection'), { role: 'collection', owner: placed, checkedByGo: false });
      this.#call(cursor.get('step'), step.step, placed, false);
    } else {
      this.#call(cursor, step, placed, true);
    }
  }

  #call(cursor: Cursor, call: ToolCallConfig, owner: PlacedStep, checkedByGo: boolean): void {
    const given = cursor.get('arguments');
    for (const [, value] of given.entries()) this.#value(value, { role: 'argument', owner, checkedByGo }, 1);
    this.#text(
      cursor.get('cache').get('key'),
      { role: 'cache', owner, checkedByGo: false },
      extraFunctions,
      'workflow/cache',
    );
    if (call.transform === undefined) return;
    const functions = call.transform.functions === 'extended' ? extendedFunctions : extraFunctions;
    const target = { role: 'transform', owner, checkedByGo: false } as const;
    this.properties(cursor.get('transform').get('fields'), call.transform.fields, target, functions);
  }

  /** Text at any depth of an argument is a template. */
  #value(cursor: Cursor, target: Target, depth: number): void {
    if (depth > LIMITS.argumentDepth) {
      cursor.report(
        'workflow/template',
        `${cursor.path}: arguments are nested deeper than ${LIMITS.argumentDepth} levels`,
        {
          hint: 'make them flatter',
        },
      );
      return;
    }
    const nested = { ...target, checkedByGo: target.checkedByGo && depth === 1 };
    if (typeof cursor.value === 'string') this.#text(cursor, nested);
    else if (Array.isArray(cursor.value)) for (const item of cursor.items()) this.#value(item, nested, depth + 1);
    else if (isObject(cursor.value)) {
      for (const key of Object.keys(cursor.value)) this.#value(cursor.get(key), nested, depth + 1);
    }
  }

  properties(
    cursor: Cursor,
    properties: readonly OutputProperty[],
    target: Target,
    functions: TemplateFunctions,
  ): void {
    for (const property of properties) {
      const at = cursor.get(property.name);
      this.#text(at.get('value'), target, functions);
      if (property.properties !== undefined)
        this.properties(at.get('properties'), property.properties, target, functions);
    }
  }

  #text(
    cursor: Cursor,
    target: Target,
    functions: TemplateFunctions = extraFunctions,
    code: RuleId = 'workflow/template',
  ): void {
    const { value: source } = cursor;
    if (typeof source !== 'string' || source === '') return;
    try {
      const template = parseTemplate(source, { name: 'validation', functions });
      if (source.includes('{{') || target.role === 'condition') {
        this.uses.push({ ...target, cursor, source, analysis: analyse(template) });
      }
    } catch (error) {
      if (!(error instanceof GoTemplateError)) throw error;
      const message = `${cursor.path}: invalid template: invalid template syntax: ${error.message}`;
      cursor.report(code, message, { hint: hintFor(error.message), stepId: target.owner?.step.id });
    }
  }
}

function hintFor(message: string): string {
  if (/function ".*" not defined/.test(message)) {
    return "use Go's built-in functions, json, fromJson or quote";
  }
  if (/bad character U\+002D/.test(message)) return 'a name with "-" needs index: {{index .steps "a-b"}}';
  return 'see the syntax of Go templates';
}
