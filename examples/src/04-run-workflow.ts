// A workflow over tools of your own: two calls at once, a third that reads both, retried once.
import assert from 'node:assert/strict';
import { createEngine, parseDefinition, validateDefinition } from '@thv/workflow-dag';

const definition = parseDefinition(`
name: weather_report
description: Asks two stations and writes one line
parameters: { type: object, properties: { city: { type: string } }, required: [city] }
steps:
  - { id: north, tool: station.read, arguments: { place: "north {{.params.city}}" } }
  - { id: south, tool: station.read, arguments: { place: "south {{.params.city}}" } }
  - id: report
    tool: press.write
    dependsOn: [north, south]
    arguments: { line: "{{.steps.north.output.degrees}} and {{.steps.south.output.degrees}} degrees" }
    onError: { action: retry, maxRetries: 1, retryDelay: 10ms }
`);
assert.deepEqual(validateDefinition(definition).errors, []);

let attempts = 0;
const engine = createEngine({
  tools: {
    resolve: (reference) => {
      const [workload = '', tool = ''] = reference.split('.');
      return { workload, name: tool };
    },
    call: async ({ tool, arguments: args }) => {
      if (tool.name === 'read')
        return { content: [], structuredContent: { degrees: String(args.place).startsWith('north') ? 4 : 9 } };
      attempts += 1;
      if (attempts === 1) throw new Error('the press is busy');
      return { content: [{ type: 'text', text: `Written: ${String(args.line)}` }] };
    },
  },
});

const run = await engine.run(definition, { city: 'Bern' });
for await (const event of run.events) console.log(event.type, 'stepId' in event ? event.stepId : '');
const result = await run.result;
console.log(result.status, result.output);
assert.equal(result.status, 'completed');
assert.equal(result.steps.report?.retryCount, 1);
await engine.close();
