import type { RuleId } from '../../src/index.js';
import { oneStep, withSteps, withTop } from './marked.js';

/** Rule, broken file with a mark where the finding must point, its message, and part of its remedy. */
export type Case = readonly [rule: RuleId, file: string, message: string, remedy: string];

const kubernetes = (lines: string): string =>
  `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPCompositeToolDefinition\n${lines}`;
const good = 'spec:\n  name: a\n  description: d\n  steps: [{id: s, tool: w.t}]\n';
const top = 'name: a\ndescription: d';
const forEach = (lines: string): string => `- id: s\n  type: forEach\n${lines.replaceAll(/^/gm, '  ')}`;
const ask = (lines: string): string =>
  `- id: s\n  type: elicitation\n  message: Sure?\n${lines.replaceAll(/^/gm, '  ')}`;

const files: readonly Case[] = [
  [
    'workflow/syntax',
    'name: a\nsteps: [‸',
    'the file is no YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    '',
  ],
  [
    'workflow/syntax',
    withTop('name: a\ndescription: d\ntimeout: ‸!minutes 5m'),
    'Unresolved tag: !minutes',
    'without a tag',
  ],
  ['workflow/syntax', oneStep('arguments: {n: ‸.nan}'), 'NaN is no number of JSON', 'finite number'],
  [
    'workflow/duplicate-key',
    withTop('name: a\ndescription: d\n‸name: b'),
    'the key "name" stands twice in one mapping (first on line 1)',
    'keep one',
  ],
  [
    'workflow/alias',
    withTop('name: ‸*nothing\ndescription: d'),
    'the alias *nothing has no anchor before it',
    'write the values out',
  ],
  [
    'workflow/unknown-key',
    withTop('name: a\n‸descripton: d\ndescription: d'),
    'the definition has an unknown key "descripton"',
    'did you mean "description"?',
  ],
  [
    'workflow/unknown-key',
    oneStep('‸depends_on: [s]'),
    'steps[0] has an unknown key "depends_on"',
    'did you mean "dependsOn"?',
  ],
  ['workflow/unknown-key', oneStep('‸zzz: 1'), 'steps[0] has an unknown key "zzz"', 'known keys: id, type'],
  [
    'workflow/type',
    oneStep('dependsOn: ‸other'),
    'steps[0].dependsOn must be a list of names (got string "other")',
    'write [other]',
  ],
  ['workflow/type', oneStep('condition: ‸true'), 'steps[0].condition must be text (got boolean true)', 'in quotes'],
  ['workflow/type', withSteps('- ‸just text'), 'steps[0] must be an object (got string "just text")', 'id and tool'],
  [
    'workflow/value',
    oneStep('resume: ‸agian'),
    'steps[0].resume must be one of: auto, retry, fail, skip (got "agian")',
    '',
  ],
  [
    'workflow/value',
    kubernetes('').replace('kind: ', 'kind: ‸').replace('Definition', 'Defintion'),
    'unknown kind "VirtualMCPCompositeToolDefintion"',
    'did you mean',
  ],
  [
    'workflow/required',
    kubernetes('metadata: {name: a}\n').replace('apiVersion', '‸apiVersion'),
    'spec is required',
    'add spec',
  ],
  [
    'workflow/api-version',
    kubernetes(`metadata: {name: a}\n${good}`).replace('toolhive.stacklok.dev/v1beta1', '‸toolhive.stacklok.dev/v9'),
    'apiVersion must be toolhive.stacklok.dev/v1beta1 (got "toolhive.stacklok.dev/v9")',
    'v1beta1',
  ],
  [
    'workflow/metadata',
    kubernetes(`metadata: {name: ‸Deploy_App}\n${good}`),
    'metadata.name must be a DNS-1123 subdomain of at most 253 characters (got "Deploy_App")',
    'lower-case',
  ],
  ['workflow/metadata', kubernetes(`metadata: ‸{}\n${good}`), 'metadata.name is required', 'write metadata'],
  [
    'workflow/name',
    `‸description: d\nsteps:\n  - {id: s, tool: w.t}\n`,
    'name is required',
    'give the workflow a name',
  ],
  [
    'workflow/name',
    withTop('name: ‸Deploy App\ndescription: d'),
    'name must match ^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$ and be 1-64 characters (got "Deploy App")',
    'deploy_app',
  ],
  ['workflow/description', withTop('‸name: a'), 'description is required', 'what the workflow does'],
  ['workflow/description', withTop('name: a\ndescription: ‸"  "'), 'description is required', 'what the workflow does'],
  ['workflow/duration', withTop(`${top}\ntimeout: ‸-5m`), 'timeout cannot be negative', 'sign'],
  [
    'workflow/duration',
    oneStep('timeout: ‸5d'),
    'steps[0].timeout: invalid duration: time: unknown unit "d" in duration "5d"',
    '30s',
  ],
  [
    'workflow/duration',
    oneStep('timeout: ‸30'),
    'steps[0].timeout: invalid duration: time: missing unit in duration "30"',
    '30s',
  ],
  [
    'workflow/failure-mode',
    withTop(`${top}\nfailureMode: ‸best_effort`),
    'failureMode must be one of: abort, continue (got "best_effort")',
    'write continue',
  ],
  [
    'workflow/annotations',
    withTop(`${top}\nannotations: {readOnlyHint: ‸"yes"}`),
    'annotations.readOnlyHint must be true or false (got string "yes")',
    'without quotes',
  ],
  ['workflow/steps', `${top}\nsteps: ‸[]\n`, 'steps must have at least one step', 'add a step'],
  ['workflow/steps', `${top}\nsteps:\n  ‸a: 1\n`, 'steps must be a list (got object "{…}")', '- id'],
  [
    'workflow/steps',
    `${top}\nsteps:\n  ‸${Array.from({ length: 101 }, (_, index) => `- {id: s${index}, tool: w.t}`).join('\n  ')}\n`,
    'steps: too many steps: 101 (max 100)',
    'split',
  ],
  ['workflow/step-id', withSteps('- ‸tool: w.t'), 'steps[0].id is required', 'fetch_logs'],
  [
    'workflow/step-id',
    withSteps(`- {id: ‸${'x'.repeat(129)}, tool: w.t}`),
    'steps[0].id must be at most 128 characters (got 129)',
    'shorten',
  ],
  [
    'workflow/duplicate-step',
    withSteps('- {id: s, tool: w.t}\n- {id: ‸s, tool: w.t}'),
    'steps[1].id "s" is duplicated',
    'steps[0]',
  ],
  [
    'workflow/step-type',
    oneStep('type: ‸foreach'),
    'steps[0].type must be one of: tool, elicitation, forEach (got "foreach")',
    'did you mean "forEach"?',
  ],
  [
    'workflow/step-type',
    withSteps('- ‸id: s\n  tool: w.t\n  message: m'),
    'steps[0] cannot have both tool and message fields - use explicit type (tool or elicitation)',
    'add type',
  ],
  ['workflow/tool', withSteps('- ‸id: s'), 'steps[0].tool is required when type is tool', 'workload.tool_name'],
  [
    'workflow/tool',
    withSteps('- {id: s, tool: ‸"a b"}'),
    'steps[0].tool must be a valid tool name (got "a b")',
    'workload.tool_name',
  ],
  [
    'workflow/tool',
    kubernetes('metadata: {name: a}\nspec:\n  name: a\n  description: d\n  steps:\n    - {id: s, tool: ‸echo}\n'),
    "spec.steps[0].tool must be in format 'workload.tool_name'",
    'workload.echo',
  ],
  [
    'workflow/template',
    oneStep('arguments:\n  q: ‸"{{.params.a"'),
    'steps[0].arguments[q]: invalid template: invalid template syntax: template: validation:1: unclosed action',
    'syntax',
  ],
  [
    'workflow/template',
    oneStep('arguments: {deep: {list: [‸"{{upper .params.a}}"]}}'),
    'steps[0].arguments[deep].list[0]: invalid template: invalid template syntax: template: validation:1: function "upper" not defined',
    'fromJson',
  ],
  [
    'workflow/template',
    oneStep('condition: ‸"{{.steps.a-b.output.x}}"'),
    "steps[0].condition: invalid template: invalid template syntax: template: validation:1: bad character U+002D '-'",
    'index',
  ],
  [
    'workflow/required',
    withSteps('- ‸id: s\n  type: elicitation\n  schema: {type: boolean}'),
    'steps[0].message is required when type is elicitation',
    'question',
  ],
  [
    'workflow/schema',
    withSteps('- ‸id: s\n  type: elicitation\n  message: Sure?'),
    'steps[0].schema is required for elicitation steps',
    'add schema',
  ],
  [
    'workflow/schema',
    withSteps(ask('schema: ‸{type: nonsense}')),
    'steps[0].schema: invalid JSON Schema: /properties/value/type must be equal to one of the allowed values ("array", "boolean", "integer", "null", "number", "object", "string")',
    'json-schema.org',
  ],
  [
    'workflow/default-response',
    withSteps(ask('schema: {type: boolean}\ndefaultResponse: ‸"maybe"')),
    'steps[0].defaultResponse does not match the schema: must be boolean',
    'allows',
  ],
  [
    'workflow/elicitation-action',
    withSteps(ask('schema: {type: boolean}\nonDecline: {action: ‸retry}')),
    'steps[0].onDecline.action must be one of: abort, continue, skip_remaining (got "retry")',
    '',
  ],
  [
    'workflow/elicitation-action',
    withSteps(ask('schema: {type: boolean}\nonCancel: ‸continue')),
    'steps[0].onCancel must be an object (got string "continue")',
    '{action: continue}',
  ],
  [
    'workflow/for-each',
    withSteps(forEach('tool: ‸w.t\ncollection: "[]"\nstep: {tool: w.t}')),
    "steps[0]: forEach step must not have 'tool' field",
    'below step',
  ],
  [
    'workflow/for-each',
    withSteps('- ‸id: s\n  type: forEach\n  step: {tool: w.t}'),
    'steps[0].collection is required for forEach steps',
    'json',
  ],
  [
    'workflow/for-each',
    withSteps('- ‸id: s\n  type: forEach\n  collection: "[]"'),
    'steps[0].step is required for forEach steps',
    'add step',
  ],
  [
    'workflow/for-each',
    withSteps(forEach('collection: "[]"\nstep: {type: ‸elicitation, tool: w.t}')),
    `steps[0].step.type must be 'tool' (got "elicitation") for the inner step of a forEach step`,
    'out of the loop',
  ],
  [
    'workflow/for-each',
    withSteps(forEach('collection: "[]"\nstep: ‸{arguments: {}}')),
    'steps[0].step.tool is required for the inner step of a forEach step',
    'add tool',
  ],
  [
    'workflow/for-each',
    withSteps(forEach('collection: "[]"\nitemVar: ‸1x\nstep: {tool: w.t}')),
    'steps[0].itemVar must be a valid Go identifier (got "1x")',
    'letters',
  ],
  [
    'workflow/for-each',
    withSteps(forEach('collection: "[]"\nitemVar: ‸index\nstep: {tool: w.t}')),
    "steps[0].itemVar cannot be 'index' (reserved)",
    'another name',
  ],
  [
    'workflow/for-each',
    withSteps(forEach('collection: "[]"\nmaxParallel: ‸51\nstep: {tool: w.t}')),
    'steps[0].maxParallel must be <= 50 (got 51)',
    '50',
  ],
  [
    'workflow/for-each',
    withSteps(forEach('collection: "[]"\nmaxIterations: ‸-1\nstep: {tool: w.t}')),
    'steps[0].maxIterations must be non-negative (got -1)',
    'default',
  ],
  [
    'workflow/template',
    withSteps(forEach('collection: ‸"{{json}"\nstep: {tool: w.t}')),
    "steps[0].collection: invalid template: invalid template syntax: template: validation:1: bad character U+007D '}'",
    'syntax',
  ],
  [
    'workflow/unknown-dependency',
    withSteps('- {id: fetch_logs, tool: w.t}\n- {id: s, tool: w.t, dependsOn: [‸fetch_log]}'),
    'steps[1].dependsOn references unknown step "fetch_log"',
    'did you mean "fetch_logs"?',
  ],
  [
    'workflow/cycle',
    withSteps(
      '- {id: a, tool: w.t, dependsOn: ‸[b]}\n- {id: b, tool: w.t, dependsOn: [c]}\n- {id: c, tool: w.t, dependsOn: [a]}',
    ),
    'steps: circular dependency detected: a -> b -> c -> a',
    'dependsOn of "a"',
  ],
  [
    'workflow/cycle',
    withSteps('- {id: a, tool: w.t, dependsOn: ‸[a]}'),
    'steps: circular dependency detected: a -> a',
    'its own dependsOn',
  ],
  [
    'workflow/on-error',
    oneStep('onError: {action: ‸ignore}'),
    'steps[0].onError.action must be one of: abort, continue, retry (got "ignore")',
    '',
  ],
  [
    'workflow/retry',
    oneStep('onError: {action: retry, maxRetries: ‸0}'),
    'steps[0].onError.maxRetries must be at least 1 when action is retry (got 0)',
    'maxRetries: 3',
  ],
  [
    'workflow/retry',
    oneStep('onError: ‸{action: retry}'),
    'steps[0].onError.retryCount must be at least 1 when action is retry',
    'maxRetries: 3',
  ],
  [
    'workflow/retry',
    oneStep('onError: {action: retry, retryCount: 2, maxRetries: ‸3}'),
    'steps[0].onError has both retryCount and maxRetries, and they differ',
    'keep one',
  ],
  [
    'workflow/missing-default',
    withSteps(
      '- {id: a, tool: w.t, condition: "{{true}}"}\n- {id: b, tool: w.t, dependsOn: [a], arguments: {x: ‸"{{.steps.a.output.text}}"}}',
    ),
    'steps[a].defaultResults[text] is required: step "a" may be skipped and field "text" is referenced by step b',
    'add text to the defaultResults of step "a"',
  ],
  ['workflow/cache', oneStep('cache: {ttl: ‸200h}'), 'steps[0].cache.ttl must be at most 168h (seven days)', '168h'],
  [
    'workflow/cache',
    oneStep('cache: {scope: ‸everyone}'),
    'steps[0].cache.scope must be one of: user, tool, workflow, global (got "everyone")',
    '',
  ],
  [
    'workflow/transform',
    oneStep('transform: {keep: [a], drop: ‸[b]}'),
    'steps[0].transform cannot have both keep and drop',
    'keep one',
  ],
  ['workflow/transform', oneStep('transform: ‸{}'), 'steps[0].transform: needs fields, keep or drop', 'type and value'],
  [
    'workflow/duplicate-name',
    'compositeTools:\n  - {name: a, description: d, steps: [{id: s, tool: w.t}]}\n  - {name: ‸a, description: d, steps: [{id: s, tool: w.t}]}\n',
    'duplicate composite tool name: a',
    'rename',
  ],
  [
    'workflow/reference',
    'compositeToolRefs:\n  - name: a\n  - ‸name: a\n',
    'duplicate composite tool reference: a',
    'keep one',
  ],
];

const parameters: readonly Case[] = [
  ['{properties: {}}', "must have 'type' field (should be 'object' for JSON Schema)", 'add type: object'],
  [
    '{env: {type: string, required: true}}',
    "must have 'type' field (should be 'object' for JSON Schema)",
    'move them below "properties"',
  ],
  ['{type: ‸[object]}', "'type' field must be a string", 'type: object'],
  ['{type: ‸string}', "'type' must be 'object' (got 'string')", 'type: object'],
  ['{type: object, properties: ‸[a]}', "'properties' must be an object", 'as a key'],
  ['{type: object, required: ‸a}', "'required' must be an array", 'required: [name, …]'],
  [
    '{type: object, properties: {n: {type: ‸numbr}}}',
    'invalid JSON Schema: /properties/n/type must be equal to one of the allowed values ("array", "boolean", "integer", "null", "number", "object", "string")',
    'json-schema.org',
  ],
].map(([schema = '', message = '', remedy = '']): Case => {
  const place = schema.includes('‸') ? schema : `‸${schema}`;
  return ['workflow/parameters', withTop(`${top}\nparameters: ${place}`), `parameters: ${message}`, remedy];
});

const outputs: readonly Case[] = [
  ['{properties: ‸{}}', 'output properties cannot be empty', 'as a key'],
  [
    '{properties: {a: {type: string, value: x}}, required: [‸b]}',
    'required field "b" does not exist in properties',
    'properties: a',
  ],
  [
    '{properties: {a: {type: object, properties: {b: ‸{value: x}}}}}',
    `property "a.b" is missing required field 'type'`,
    'add type',
  ],
  [
    '{properties: {a: {type: ‸strng, value: x}}}',
    'property "a" has invalid type "strng" (must be one of: string, integer, number, boolean, object, array)',
    'did you mean "string"?',
  ],
  [
    '{properties: {a: {type: object, value: x, properties: ‸{b: {type: string, value: x}}}}}',
    `property "a" cannot have both 'value' and 'properties' fields`,
    'keep one',
  ],
  ['{properties: {a: ‸{type: object}}}', `property "a" must have either 'value' or 'properties' field`, 'add value'],
  ['{properties: {a: ‸{type: string}}}', `property "a" with type "string" must have 'value' field`, 'add value'],
  [
    '{properties: {a: {type: boolean, value: x, default: ‸[]}}}',
    'property "a" has default value of type array, expected boolean-compatible type',
    'of type boolean',
  ],
].map(([output = '', message = '', remedy = '']): Case => [
  'workflow/output',
  withTop(`${top}\noutput: ${output}`),
  `output: ${message}`,
  remedy,
]);

/** Every broken definition. */
export const broken: readonly Case[] = [...files, ...parameters, ...outputs];
