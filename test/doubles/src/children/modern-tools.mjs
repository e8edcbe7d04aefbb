import { fromJsonSchema } from '@modelcontextprotocol/server';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const object = (properties, required = []) => ({
  inputSchema: fromJsonSchema({ type: 'object', properties, required }),
});
const wait = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, Math.min(ms, 60_000));
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

const changes = {
  tools: (server) => server.sendToolListChanged(),
  prompts: (server) => server.sendPromptListChanged(),
  resources: (server) => server.sendResourceListChanged(),
};

/** Registers the tools that ask nothing. */
export function registerTools(server, state) {
  const tool = (name, properties, run, required) => server.registerTool(name, object(properties, required), run);
  tool('echo', { message: { type: 'string' } }, ({ message }) => text(String(message)));
  tool('stats', {}, () => {
    const { received, calls, effects, cancelled, last } = state;
    return text(JSON.stringify({ pid: process.pid, received, calls, effects, cancelled, last }));
  });
  tool('slow', { ms: { type: 'integer' } }, async ({ ms = 100 }, context) => {
    try {
      await wait(ms, context.mcpReq.signal);
    } catch {
      state.cancelled += 1;
    }
    return text('late');
  });
  tool('progress', { count: { type: 'integer' }, ms: { type: 'integer' } }, async ({ count = 3, ms = 0 }, context) => {
    const { _meta, notify, signal } = context.mcpReq;
    for (let progress = 1; progress <= Math.min(count, 1000); progress += 1) {
      if (ms > 0) await wait(ms, signal);
      const params = { progressToken: _meta?.progressToken, progress, total: count };
      if (_meta?.progressToken !== undefined) await notify({ method: 'notifications/progress', params });
    }
    return text('done');
  });
  tool('log', { level: { type: 'string' }, message: { type: 'string' } }, async ({ level, message }, context) => {
    await context.mcpReq.log(level ?? 'info', message ?? 'logged');
    return text('logged');
  });
  tool('change', { list: { type: 'string' } }, async ({ list }) => {
    await changes[list](server);
    return text('changed');
  });
  tool('update', { uri: { type: 'string' } }, async ({ uri }) => {
    await server.server.sendResourceUpdated({ uri });
    return text('updated');
  });
  tool('die', {}, () => process.exit(7));
  const region = { type: 'string', 'x-mcp-header': 'Region' };
  const attempt = { type: 'integer', 'x-mcp-header': 'Attempt' };
  tool('mirrored', { region, attempt, note: { type: 'string' } }, (args) => text(JSON.stringify(args)), ['region']);
  // What no SDK lets a server do: any result, written past the SDK.
  tool('raw', { result: { type: 'string' } }, ({ result }, context) => {
    const id = JSON.stringify(context.mcpReq.id);
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":${result}}\n`);
    return new Promise(() => {});
  });
}
