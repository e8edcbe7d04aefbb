// A server over stdio that writes down every call: `CALLS_FILE` gets a line for each, `wait` answers once `GATE_FILE` exists.
import { appendFileSync, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const { CALLS_FILE = '', GATE_FILE = '' } = process.env;
const tool = (name) => ({ name, inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } });

function answer(id, body) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`);
}

async function gateOpens() {
  while (!existsSync(GATE_FILE)) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function call({ name, arguments: args = {} }) {
  appendFileSync(CALLS_FILE, `${name} ${JSON.stringify(args)}\n`);
  if (name === 'wait') await gateOpens();
  if (name === 'fail' && !existsSync(GATE_FILE)) return { isError: true, content: [{ type: 'text', text: 'no gate' }] };
  return { content: [{ type: 'text', text: `${name} done` }] };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === 'initialize') {
    const { protocolVersion } = params;
    answer(id, {
      result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'counting', version: '1' } },
    });
  } else if (method === 'tools/list') answer(id, { result: { tools: ['count', 'wait', 'fail'].map(tool) } });
  else if (method === 'tools/call') void call(params).then((result) => answer(id, { result }));
  else answer(id, { error: { code: -32601, message: 'Method not found' } });
}
process.exit(0);
