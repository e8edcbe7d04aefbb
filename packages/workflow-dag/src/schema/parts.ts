import { DEFAULTS, LIMITS } from '../definition.js';
import type { JsonObject } from '../json.js';

const template = (description: string): JsonObject => ({ type: 'string', description: `${description} A template.` });
const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });
const record = (values: JsonObject, description: string): JsonObject => ({
  type: 'object',
  additionalProperties: values,
  description,
});

/** An object with these keys and no other. */
export function closed(properties: JsonObject, required: readonly string[] = [], description?: string): JsonObject {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

const duration: JsonObject = {
  type: 'string',
  pattern: '^([0-9]+(\\.[0-9]+)?(ns|us|\u00B5s|ms|s|m|h))+$',
  description: 'A number with a unit, or several: 30s, 5m, 1h30m.',
  examples: ['30s', '5m', '1h30m'],
};

const onError = closed(
  {
    action: { enum: ['abort', 'continue', 'retry'], default: 'abort', description: 'What follows a failure.' },
    maxRetries: {
      type: 'integer',
      minimum: 1,
      maximum: LIMITS.retries,
      description: 'Attempts after the first, with action retry.',
    },
    retryCount: { type: 'integer', minimum: 1, maximum: LIMITS.retries, description: 'The same as maxRetries.' },
    retryDelay: {
      ...ref('duration'),
      description: 'Time before the first retry; it grows by half each time.',
      default: '1s',
    },
    onExhausted: {
      enum: ['abort', 'continue'],
      default: 'abort',
      description: 'What follows the last failed attempt.',
    },
  },
  [],
  'What to do when the call fails.',
);

const handler = (description: string): JsonObject =>
  closed({ action: { enum: ['abort', 'continue', 'skip_remaining'], default: 'abort' } }, [], description);

const cache = closed(
  {
    key: template('Key of the entry in place of the arguments.'),
    ttl: { ...ref('duration'), default: '10m', description: 'How long a result is good; at most 168h.' },
    scope: { enum: ['user', 'tool', 'workflow', 'global'], default: 'user', description: 'Who shares the result.' },
    mode: { enum: ['readwrite', 'read', 'write', 'bypass'], default: 'readwrite' },
    staleIfError: { ...ref('duration'), description: 'How long an overdue result may stand in for a failed call.' },
  },
  [],
  'Keeps results of the tool, so that another call with the same arguments makes none.',
);

const transform = closed(
  {
    fields: record(ref('property'), 'The new output, field by field.'),
    keep: { type: 'array', items: { type: 'string' }, description: 'Keys of the original output to keep.' },
    drop: { type: 'array', items: { type: 'string' }, description: 'Keys of the original output to leave out.' },
    functions: { enum: ['go', 'extended'], default: 'go', description: 'Which functions the templates may call.' },
  },
  [],
  'Reshapes the output of the step.',
);

/** Keys of a call of a tool. */
const call: JsonObject = {
  tool: {
    type: 'string',
    pattern: '^[a-zA-Z0-9][a-zA-Z0-9._-]*$',
    description: 'The tool: workload.tool_name, or the name under which it is offered.',
  },
  arguments: { type: 'object', description: 'Arguments of the tool; text at any depth is a template.' },
  onError: ref('onError'),
  idempotent: {
    type: 'boolean',
    default: false,
    description: 'Calling twice does no harm: a resumed run may repeat it.',
  },
  cache: ref('cache'),
  transform: ref('transform'),
};

const step = closed(
  {
    id: { type: 'string', minLength: 1, maxLength: LIMITS.stepIdLength, description: 'Name of the step, used once.' },
    type: { enum: ['tool', 'elicitation', 'forEach'], default: 'tool', description: 'What the step does.' },
    condition: template('The step runs only when this renders true.'),
    dependsOn: { type: 'array', items: { type: 'string' }, description: 'Ids of the steps that must be over before.' },
    timeout: { ...ref('duration'), default: '5m', description: 'Time for all attempts of the step.' },
    defaultResults: { type: 'object', description: 'Output when the step is skipped, or fails and the run goes on.' },
    resume: {
      enum: ['auto', 'retry', 'fail', 'skip'],
      default: 'auto',
      description: 'What to do with a step that was running when its process died.',
    },
    ...call,
    message: template('Question to the user (elicitation).'),
    schema: { type: 'object', description: 'JSON Schema of the answer (elicitation).' },
    onDecline: handler('What follows when the user declines (elicitation).'),
    onCancel: handler('What follows when the user cancels or does not answer in time (elicitation).'),
    defaultResponse: { description: 'Answer to take when nobody can be asked or answers in time (elicitation).' },
    collection: template('Renders the JSON array to go through (forEach).'),
    itemVar: {
      type: 'string',
      pattern: '^[a-zA-Z_][a-zA-Z0-9_]*$',
      not: { const: 'index' },
      default: DEFAULTS.itemVar,
      description: 'Name of the item below .forEach (forEach).',
    },
    maxParallel: { type: 'integer', minimum: 0, maximum: LIMITS.parallel, description: 'Calls at once (forEach).' },
    maxIterations: {
      type: 'integer',
      minimum: 0,
      maximum: LIMITS.iterations,
      default: DEFAULTS.maxIterations,
      description: 'Items at most (forEach).',
    },
    step: ref('innerStep'),
  },
  ['id'],
  'A node of the graph: a tool call, a question, or a tool call for each item of a list.',
);

const innerStep = closed(
  { id: { type: 'string' }, type: { const: 'tool' }, ...call },
  ['tool'],
  'The tool call that a forEach step makes for each item.',
);

const types = ['string', 'integer', 'number', 'boolean', 'object', 'array'];

const property = closed(
  {
    type: { enum: types, description: 'Type of the value.' },
    description: { type: 'string' },
    value: template('Its text is converted to the type.'),
    from: { type: 'string', description: 'Path to a value that keeps its type: .steps.a.output.items[0].' },
    properties: record(ref('property'), 'Properties of an object.'),
    default: { description: 'Taken when value or from gives nothing.' },
  },
  [],
  'One property: its type, and one of value, from and properties.',
);

const annotations = closed(
  {
    title: { type: 'string' },
    readOnlyHint: { type: 'boolean' },
    destructiveHint: { type: 'boolean' },
    idempotentHint: { type: 'boolean' },
    openWorldHint: { type: 'boolean' },
  },
  [],
  'Hints for the workflow as a tool; absent ones follow from its steps.',
);

const workflow = closed(
  {
    name: {
      type: 'string',
      pattern: '^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$',
      maxLength: LIMITS.nameLength,
      description: 'Name of the workflow as a tool.',
    },
    description: { type: 'string', minLength: 1, description: 'What the workflow does.' },
    parameters: {
      type: 'object',
      properties: { type: { const: 'object' }, properties: { type: 'object' }, required: { type: 'array' } },
      required: ['type'],
      description: 'JSON Schema of the parameters.',
    },
    timeout: { ...ref('duration'), default: '30m', description: 'Time for the whole run.' },
    failureMode: { enum: ['abort', 'continue'], default: 'abort', description: 'What a failed step does to the run.' },
    steps: { type: 'array', items: ref('step'), minItems: 1, maxItems: LIMITS.steps },
    output: closed(
      {
        properties: { ...record(ref('property'), 'The output, property by property.'), minProperties: 1 },
        required: { type: 'array', items: { type: 'string' } },
      },
      ['properties'],
      'The output of the workflow; without it, that of the step that completed last.',
    ),
    annotations: ref('annotations'),
  },
  ['name', 'description', 'steps'],
  'A workflow: steps that call tools, in an order that follows from what they depend on.',
);

/** The parts of the schema by name. */
export const definitions: JsonObject = {
  duration,
  onError,
  cache,
  transform,
  step,
  innerStep,
  property,
  annotations,
  workflow,
};
