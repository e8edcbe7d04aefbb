// What a small server answers to a request; over stdio and over HTTP alike.
import { appendFileSync } from 'node:fs';

const schema = { type: 'object', properties: { n: { type: 'integer' } } };
const names = ['add', 'fail', 'crash', 'slow', 'wrong', 'env', 'meta'];

/** The result, an error `{code, message}`, or nothing for a notification. */
export async function answer({ method, params = {} }, prefix = '') {
  switch (method) {
    case 'initialize':
      return {
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'small', version: '1' },
        },
      };
    case 'ping':
      return { result: {} };
    case 'tools/list': {
      // Two pages, so that a reader of the first alone is found out.
      const from = params.cursor === undefined ? 0 : 4;
      const tools = names
        .slice(from, from + 4)
        .map((name) => ({ name: prefix + name, description: name, inputSchema: schema }));
      return { result: from === 0 ? { tools, nextCursor: 'more' } : { tools } };
    }
    case 'tools/call':
      return call(params.name.slice(prefix.length), params);
    default:
      return { error: { code: -32601, message: `Method not found: ${method}` } };
  }
}

async function call(name, { arguments: args = {}, _meta: meta }) {
  if (process.env.CALLS_FILE) appendFileSync(process.env.CALLS_FILE, `${name}\n`);
  const text = (value) => ({ result: { content: [{ type: 'text', text: value }] } });
  switch (name) {
    case 'add':
      return { result: { content: [], structuredContent: { sum: (args.n ?? 0) + 1 } } };
    case 'fail':
      return { result: { isError: true, content: [{ type: 'text', text: 'it did not work' }] } };
    case 'crash':
      process.stderr.write('about to crash\n');
      process.exit(3);
      break;
    case 'slow':
      await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
      return text('late');
    case 'wrong':
      return { error: { code: -32602, message: 'n must be positive' } };
    case 'env':
      return text(JSON.stringify({ cwd: process.cwd(), token: process.env.TOKEN, secret: process.env.PARENT_SECRET }));
    case 'meta':
      return text(JSON.stringify(meta));
    default:
      return { error: { code: -32602, message: `Unknown tool ${name}` } };
  }
}
