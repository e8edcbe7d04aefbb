// What each scenario of the suite wants its client to do: node main.mjs URL, with MCP_CONFORMANCE_SCENARIO.
import { createClient } from './client.mjs';

const [url] = process.argv.slice(2);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

const client = createClient(url, {
  form: () => ({ action: 'accept', content: { confirmed: true } }),
  sampling: () => ({ role: 'assistant', content: { type: 'text', text: 'Yes.' }, model: 'none' }),
  roots: () => ({ roots: [] }),
});

/** Arguments that a tool takes, made up. */
const madeUp = ({ inputSchema }) =>
  Object.fromEntries((inputSchema.required ?? []).map((name) => [name, valueOf(inputSchema.properties?.[name] ?? {})]));
const valueOf = ({ type }) => ({ string: 'text', boolean: true, object: {}, array: [] })[type] ?? 1;

/** Calls whatever is listed, all at once: no call may show in another. */
async function callEveryTool() {
  const tools = await client.listTools();
  await Promise.all(tools.map((tool) => client.call(tool.name, madeUp(tool))));
  return tools;
}

const scenarios = {
  tools_call: callEveryTool,
  'request-metadata': callEveryTool,
  'sep-2322-client-request-state': callEveryTool,
  'http-invalid-tool-headers': callEveryTool,
  'json-schema-ref-no-deref': () => client.listTools(),
  async 'http-custom-headers'() {
    await client.listTools();
    for (const { name, arguments: args } of context.toolCalls) await client.call(name, args);
  },
  async 'http-standard-headers'() {
    await callEveryTool();
    const { resources } = await client.request('resources/list');
    for (const { uri } of resources) await client.request('resources/read', { uri });
    const { prompts } = await client.request('prompts/list');
    for (const { name } of prompts) await client.request('prompts/get', { name });
  },
  async 'json-schema-2020-12-preservation'() {
    const tools = await client.listTools();
    const { inputSchema } = tools.find(({ name }) => name === 'json_schema_2020_12_tool');
    await client.call('json_schema_echo', { schema: inputSchema });
  },
};

if (!Object.hasOwn(scenarios, scenario)) throw new Error(`There is no scenario ${JSON.stringify(scenario)}`);
await client.discover();
await scenarios[scenario]();
