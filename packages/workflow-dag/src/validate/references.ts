import type { Step } from '../definition.js';
import { ancestry, type Edges } from '../graph.js';
import { isObject, own } from '../json.js';
import { nearest } from '../parse/nearest.js';
import type { PlacedStep, ValidationContext } from './context.js';
import type { Read } from './reads.js';
import type { TemplateUse } from './templates.js';

const ROOTS = ['params', 'steps', 'vars', 'workflow'];
const STEP_FIELDS = ['output', 'status', 'content', 'error'];
const ELICITATION_FIELDS = ['action', 'content', 'defaulted', 'skipped'];
/** With one of these an answer may have fields that `properties` does not list. */
const OPEN_KEYWORDS = ['patternProperties', 'allOf', 'anyOf', 'oneOf', '$ref', 'if'];
const FOR_EACH_FIELDS = ['iterations', 'count', 'completed', 'failed'];

/** What templates read of parameters, steps and the rest: does it exist, and is it there in time? */
export function checkReads(context: ValidationContext, edges: Edges, uses: readonly TemplateUse[]): void {
  const isAncestor = ancestry(edges);
  const told = new Set<string>();
  for (const use of uses) {
    for (const read of use.analysis.reads) {
      const [root = ''] = read.path;
      if (root === 'params') checkParameter(context, use, read);
      else if (root === 'steps') checkStep(context, edges, isAncestor, use, read, told);
      else if (!allowedRoots(use).includes(root)) warnRoot(use, root);
      else if (root === 'forEach') checkLoop(use, read);
    }
  }
}

/** What stands at the root for a template. */
function allowedRoots({ role, owner }: TemplateUse): readonly string[] {
  const inner = owner?.step.type === 'forEach' && ['argument', 'transform', 'cache'].includes(role);
  return [...ROOTS, ...(inner ? ['forEach'] : []), ...(role === 'transform' ? ['output', 'content'] : [])];
}

function warnRoot(use: TemplateUse, root: string): void {
  const roots = allowedRoots(use);
  const near = nearest(root, roots);
  use.cursor.report('workflow/unknown-variable', `${use.cursor.path} reads .${root}, which does not exist`, {
    severity: 'warning',
    hint: near === undefined ? `there are ${roots.map((name) => `.${name}`).join(', ')}` : `did you mean ".${near}"?`,
    stepId: use.owner?.step.id,
  });
}

function checkLoop({ cursor, owner }: TemplateUse, { path }: Read): void {
  const [, name] = path;
  if (name === undefined || owner?.step.type !== 'forEach') return;
  const names = [owner.step.itemVar, 'index'];
  if (names.includes(name)) return;
  const near = nearest(name, names);
  cursor.report('workflow/unknown-variable', `${cursor.path} reads .forEach.${name}, which does not exist`, {
    severity: 'warning',
    hint:
      near === undefined
        ? `there are ${names.map((known) => `.forEach.${known}`).join(', ')}`
        : `did you mean ".forEach.${near}"?`,
    stepId: owner.step.id,
  });
}

function checkParameter({ definition }: ValidationContext, { cursor, owner }: TemplateUse, { path }: Read): void {
  const properties = definition.parameters === undefined ? undefined : own(definition.parameters, 'properties');
  const [, name] = path;
  if (name === undefined || !isObject(properties) || Object.hasOwn(properties, name)) return;
  const near = nearest(name, Object.keys(properties));
  cursor.report(
    'workflow/unknown-variable',
    `${cursor.path} reads .params.${name}, which the parameters do not declare`,
    {
      severity: 'warning',
      hint:
        near === undefined ? `parameters: ${Object.keys(properties).join(', ')}` : `did you mean ".params.${near}"?`,
      stepId: owner?.step.id,
    },
  );
}

function checkStep(
  { steps }: ValidationContext,
  edges: Edges,
  isAncestor: (step: number, ancestor: number) => boolean,
  use: TemplateUse,
  { path }: Read,
  told: Set<string>,
): void {
  const { cursor, owner } = use;
  const [, id, field, part, leaf] = path;
  if (id === undefined) return;
  const warn = (
    code: 'workflow/unknown-step' | 'workflow/unknown-variable' | 'workflow/missing-dependency',
    text: string,
    hint: string,
  ): void => {
    const key = `${cursor.pointer} ${text}`;
    if (told.has(key)) return;
    told.add(key);
    cursor.report(code, `${cursor.path} ${text}`, { severity: 'warning', hint, stepId: owner?.step.id });
  };
  const index = edges.indexOf.get(id);
  const target = index === undefined ? undefined : steps[index];
  if (index === undefined || target === undefined) {
    const near = nearest(id, edges.indexOf.keys());
    warn(
      'workflow/unknown-step',
      `reads .steps.${id}, which does not exist`,
      near === undefined ? 'name a step of the workflow' : `did you mean ".steps.${near}"?`,
    );
    return;
  }
  if (field !== undefined && !STEP_FIELDS.includes(field)) {
    const near = nearest(field, STEP_FIELDS) ?? 'output';
    warn(
      'workflow/unknown-variable',
      `reads .steps.${id}.${field}, which does not exist`,
      `did you mean ".steps.${id}.${near}"?`,
    );
  } else if (field === 'output' && part !== undefined) {
    const fields = producedFields(target.step);
    if (fields !== undefined && !fields.includes(part)) {
      warn(
        'workflow/unknown-variable',
        `reads .steps.${id}.output.${part}, which the step does not produce`,
        `it produces ${fields.join(', ')}`,
      );
    } else if (part === 'content' && leaf !== undefined) {
      const answers = answerFields(target.step);
      if (answers !== undefined && !answers.includes(leaf)) {
        const near = nearest(leaf, answers);
        warn(
          'workflow/unknown-variable',
          `reads .steps.${id}.output.content.${leaf}, which the question does not ask for`,
          near === undefined ? `it asks for ${answers.join(', ')}` : `did you mean "${near}"?`,
        );
      }
    }
  }
  if (owner === undefined || isAncestor(owner.index, index)) return;
  const text =
    owner.index === index
      ? `reads .steps.${id}, which is the step itself: it has no output yet`
      : `reads .steps.${id}, but the step does not depend on it: it may run before`;
  warn(
    'workflow/missing-dependency',
    text,
    owner.index === index ? 'read another step' : `add "${id}" to its dependsOn`,
  );
}

/** The keys of a step's output, where the definition fixes them. */
function producedFields(step: Step): readonly string[] | undefined {
  if (step.type === 'forEach') return FOR_EACH_FIELDS;
  if (step.type === 'elicitation') return [...ELICITATION_FIELDS, ...Object.keys(step.defaultResults ?? {})];
  const transform = step.type === 'tool' ? step.transform : undefined;
  if (transform === undefined || transform.drop !== undefined) return undefined;
  return [
    ...transform.fields.map(({ name }) => name),
    ...(transform.keep ?? []),
    ...Object.keys(step.defaultResults ?? {}),
  ];
}

/** The fields of an accepted answer, where the schema of the question names them all. */
function answerFields(step: Step): readonly string[] | undefined {
  if (step.type !== 'elicitation') return undefined;
  const properties = own(step.schema, 'properties');
  if (!isObject(properties) || OPEN_KEYWORDS.some((keyword) => Object.hasOwn(step.schema, keyword))) return undefined;
  if ((own(step.schema, 'additionalProperties') ?? false) !== false) return undefined;
  const spare = [step.defaultResponse, step.defaultResults?.['content']].filter((value) => isObject(value));
  return [properties, ...spare].flatMap((value) => Object.keys(value));
}

/** How a step may end without an output of its own. */
type Skippable = 'never' | 'sometimes' | 'on failure of the run';

function skippable({ step }: PlacedStep, { definition }: ValidationContext): Skippable {
  if (step.condition !== undefined) return 'sometimes';
  // Whatever fails in a loop or before it, its counters and its list are there.
  if (step.type === 'forEach') return 'never';
  if (step.type === 'tool' && step.onError.action === 'continue') return 'sometimes';
  const exhausted = step.type === 'tool' && step.onError.action === 'retry' && step.onError.onExhausted === 'continue';
  return exhausted || definition.failureMode === 'continue' ? 'on failure of the run' : 'never';
}

/** Fields that are read of steps which may not produce them, and defaults that nobody reads. */
export function checkDefaults(context: ValidationContext, edges: Edges, uses: readonly TemplateUse[]): void {
  const { steps, options } = context;
  const told = new Set<string>();
  const read = new Set<string>();
  // Findings that the reference makes as well come first, so that each field is told once and as an error.
  for (const strict of [true, false]) {
    for (const use of uses) {
      for (const { path, plain } of use.analysis.reads) {
        const [root, id = '', kind, field] = path;
        if (root !== 'steps' || kind === 'status' || kind === 'error' || kind === 'content') continue;
        read.add(field === undefined ? `${id}/*` : `${id}/${field}`);
        const target = steps[edges.indexOf.get(id) ?? -1];
        if (field === undefined || target === undefined || strict !== (plain && use.checkedByGo)) continue;
        const state = skippable(target, context);
        if (state === 'never' || Object.hasOwn(target.step.defaultResults ?? {}, field)) continue;
        if (told.has(`${id}/${field}`)) continue;
        told.add(`${id}/${field}`);
        const error = state === 'sometimes' && (strict || options.strictReferences === true);
        reportMissing(use, context.root.get('steps').path, id, field, error);
      }
    }
  }
  for (const placed of steps) reportUnused(placed, read, context);
}

function reportMissing({ cursor, owner }: TemplateUse, path: string, id: string, field: string, error: boolean): void {
  const reader = owner === undefined ? 'output' : `step ${owner.step.id}`;
  const message = `${path}[${id}].defaultResults[${field}] is required: step "${id}" may be skipped and field "${field}" is referenced by ${reader}`;
  cursor.report('workflow/missing-default', message, {
    severity: error ? 'error' : 'warning',
    hint: `add ${field} to the defaultResults of step "${id}"`,
    stepId: id,
  });
}

function reportUnused(
  { step, cursor }: PlacedStep,
  read: ReadonlySet<string>,
  { definition }: ValidationContext,
): void {
  if (step.defaultResults === undefined) return;
  // Without an output of its own the workflow answers that of its last step, every key of it.
  const isLast =
    definition.output === undefined && !definition.steps.some(({ dependsOn }) => dependsOn.includes(step.id));
  if (isLast || read.has(`${step.id}/*`)) return;
  const field = cursor.get('defaultResults');
  for (const key of Object.keys(step.defaultResults)) {
    if (read.has(`${step.id}/${key}`)) continue;
    field
      .get(key, `${field.path}[${key}]`)
      .report('workflow/unused-default', `${field.path}[${key}] is read by no template`, {
        severity: 'warning',
        hint: 'remove it, or read it',
        atKey: true,
        stepId: step.id,
      });
  }
}
