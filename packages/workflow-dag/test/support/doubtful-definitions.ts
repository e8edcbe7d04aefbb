import type { RuleId } from '../../src/index.js';
import { oneStep, withSteps, withTop } from './marked.js';

const kubernetes = (lines: string): string =>
  `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPCompositeToolDefinition\n${lines}`;
const good = 'spec:\n  name: a\n  description: d\n  steps: [{id: s, tool: w.t}]\n';
const top = 'name: a\ndescription: d';
const forEach = (lines: string): string => `- id: s\n  type: forEach\n${lines.replaceAll(/^/gm, '  ')}`;
const ask = (lines: string): string =>
  `- id: s\n  type: elicitation\n  message: Sure?\n${lines.replaceAll(/^/gm, '  ')}`;

/** Rule, file with a mark where the warning must point, and its message. */
export type Warning = readonly [rule: RuleId, file: string, message: string];

const two = (first: string, second: string): string =>
  withSteps(`- id: a\n  tool: w.t\n${first}- id: b\n  tool: w.t\n${second}`);

/** Every doubtful definition. */
export const doubtful: readonly Warning[] = [
  [
    'workflow/deprecated',
    kubernetes(`metadata: {name: a}\n${good}`).replace(
      'toolhive.stacklok.dev/v1beta1',
      '‸toolhive.stacklok.dev/v1alpha1',
    ),
    'apiVersion toolhive.stacklok.dev/v1alpha1 is deprecated',
  ],
  ['workflow/duplicate-dependency', two('', '  dependsOn: [a, ‸a]\n'), 'steps[1].dependsOn names step "a" twice'],
  [
    'workflow/unused-default',
    two('  condition: "{{true}}"\n  defaultResults: {‸x: 1}\n', '  dependsOn: [a]\n'),
    'steps[0].defaultResults[x] is read by no template',
  ],
  [
    'workflow/missing-dependency',
    two('', '  arguments: {x: ‸"{{.steps.a.output}}"}\n'),
    'steps[1].arguments[x] reads .steps.a, but the step does not depend on it: it may run before',
  ],
  [
    'workflow/missing-dependency',
    oneStep('arguments: {x: ‸"{{.steps.s.output}}"}'),
    'steps[0].arguments[x] reads .steps.s, which is the step itself: it has no output yet',
  ],
  [
    'workflow/unknown-step',
    two('', '  arguments: {x: ‸"{{.steps.zz.output}}"}\n'),
    'steps[1].arguments[x] reads .steps.zz, which does not exist',
  ],
  [
    'workflow/unknown-variable',
    oneStep('arguments: {x: ‸"{{.timestamp}}"}'),
    'steps[0].arguments[x] reads .timestamp, which does not exist',
  ],
  [
    'workflow/unknown-variable',
    `${top}\nparameters: {type: object, properties: {incident: {type: string}}}\nsteps:\n  - {id: s, tool: w.t, arguments: {x: ‸"{{.params.incidnt}}"}}\n`,
    'steps[0].arguments[x] reads .params.incidnt, which the parameters do not declare',
  ],
  [
    'workflow/unknown-variable',
    two('', '  dependsOn: [a]\n  arguments: {x: ‸"{{.steps.a.ouput.text}}"}\n'),
    'steps[1].arguments[x] reads .steps.a.ouput, which does not exist',
  ],
  [
    'workflow/unknown-variable',
    withSteps(forEach("collection: '[1]'\nstep: {tool: w.t, arguments: {x: ‸'{{.forEach.nope}}'}}")),
    'steps[0].step.arguments[x] reads .forEach.nope, which does not exist',
  ],
  [
    'workflow/unknown-variable',
    withSteps(
      `${ask('schema: {type: object, properties: {go: {type: boolean}}}')}\n- {id: b, tool: w.t, dependsOn: [s], condition: ‸"{{.steps.s.output.content.og}}"}`,
    ),
    'steps[1].condition reads .steps.s.output.content.og, which the question does not ask for',
  ],
  [
    'workflow/unknown-variable',
    withSteps(
      `${ask('schema: {type: object, properties: {go: {type: boolean}}}')}\n- {id: b, tool: w.t, dependsOn: [s], arguments: {x: ‸"{{.steps.s.output.go}}"}}`,
    ),
    'steps[1].arguments[x] reads .steps.s.output.go, which the step does not produce',
  ],
  [
    'workflow/number-literal',
    two('', '  dependsOn: [a]\n  condition: ‸"{{gt .steps.a.output.total 100}}"\n'),
    'steps[1].condition compares .steps.a.output.total with the integer 100, but numbers of JSON are floats',
  ],
  [
    'workflow/condition',
    oneStep('condition: ‸"yes"'),
    'steps[0].condition is always "yes", which is neither true nor false',
  ],
  [
    'workflow/condition',
    oneStep('condition: ‸" {{true}}"'),
    'steps[0].condition has space outside of its braces, so that it is never exactly true or false',
  ],
  [
    'workflow/condition',
    `${top}\nparameters: {type: object, properties: {on: {type: boolean}}}\nsteps:\n  - {id: s, tool: w.t, condition: ‸"{{.params.on}}"}\n`,
    'steps[0].condition reads parameter "on", which may be left out: the step fails then',
  ],
  [
    'workflow/unreachable-fallback',
    two('', '  dependsOn: [a]\n  condition: ‸"{{ne .steps.a.status \\"completed\\"}}"\n'),
    'steps[1].condition waits for a failure of step "a", but that failure ends the run',
  ],
  [
    'workflow/step-id-characters',
    withSteps('- {id: ‸step-1, tool: w.t}'),
    'steps[0].id "step-1" is only reachable through index .steps "step-1"',
  ],
  [
    'workflow/unused-key',
    withSteps('- id: s\n  tool: w.t\n  type: tool\n  ‸collection: x'),
    'steps[0].collection has no effect on a step of type tool',
  ],
  [
    'workflow/unused-key',
    withSteps(forEach('collection: "[]"\nstep: {tool: w.t, ‸timeout: 5s}')),
    'steps[0].step.timeout has no effect on the inner step of a forEach step',
  ],
  [
    'workflow/retry',
    oneStep('onError: {action: retry, maxRetries: ‸11}'),
    'steps[0].onError.maxRetries is 11: at most 10 retries are made',
  ],
  [
    'workflow/retry',
    oneStep('onError: {action: abort, maxRetries: ‸2}'),
    'steps[0].onError.maxRetries has no effect when action is abort',
  ],
  [
    'workflow/retry',
    withSteps(forEach('collection: "[]"\nonError: {action: ‸retry, maxRetries: 1}\nstep: {tool: w.t}')),
    'steps[0].onError.action: retry on a forEach step behaves like abort',
  ],
  [
    'workflow/value',
    withSteps(ask('schema: {type: boolean}\ntimeout: ‸15m')),
    'steps[0].timeout is more than a question may wait: it is cut to 10m',
  ],
  [
    'workflow/parameters',
    withTop(`${top}\nparameters: {type: object, properties: {n: {type: integer, default: ‸x}}}`),
    'parameters: the default of parameter "n" must be integer',
  ],
  [
    'workflow/parameters',
    withTop(`${top}\nparameters: {type: object, properties: {}, required: [‸n]}`),
    'parameters: required parameter "n" does not exist in properties',
  ],
  [
    'workflow/reference',
    'compositeToolRefs:\n  - name: ‸a\n',
    'referenced VirtualMCPCompositeToolDefinition "a" not found in namespace "default"',
  ],
  [
    'workflow/missing-default',
    two('  condition: "{{true}}"\n', '  dependsOn: [a]\n  arguments: {x: {y: ‸"{{.steps.a.output.text}}"}}\n'),
    'steps[a].defaultResults[text] is required: step "a" may be skipped and field "text" is referenced by step b',
  ],
];
