// What the hostile server does when a tool of that name is called. Every loop is bounded by an argument and a limit.
import { readFileSync } from 'node:fs';
import { die } from './output.mjs';

const LIMIT = 200_000;
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const bounded = (value, fallback) => Math.min(Math.max(0, Math.trunc(value ?? fallback)), LIMIT);

/** Numbers, key order and code points that a careless proxy loses. */
const losslessResult = readFileSync(new URL('./lossless-result.txt', import.meta.url), 'utf8').trimEnd();

function repeat(state, count, send) {
  for (let index = 1; index <= count; index += 1) send(index);
}

function notify(state, method, params, hold) {
  state.output.send({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }, hold);
}

/** Sends a request to the client; answers its response, or a text when none came in time. */
function ask(state, method, params, timeoutMs) {
  const id = state.nextAsk;
  state.nextAsk += 1;
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ timeout: true }), timeoutMs ?? 30_000);
    state.asked.set(id, (response) => {
      clearTimeout(timer);
      resolve(response);
    });
    state.output.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
  });
}

/** One after the other: each question waits for the answer to the one before. */
async function inTurn(items, action) {
  const results = [];
  for (const item of items) results.push(await action(item));
  return results;
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function progress(state, message, args) {
  const token = args.token ?? message.params._meta?.progressToken;
  const count = bounded(args.count, 3);
  for (let index = 1; index <= count; index += 1) {
    const params = { progressToken: token, progress: index, total: count, message: `step ${index}` };
    notify(state, 'notifications/progress', params, args.sameChunk === true);
    if (args.delayMs !== undefined) await wait(args.delayMs);
  }
  state.output.send({ jsonrpc: '2.0', id: message.id, result: text('done') }, args.sameChunk === true);
  state.output.flush();
}

/** Blocks the whole process, so that it neither reads nor writes. */
function block(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, bounded(ms, 1000));
}

function statistics(state) {
  return {
    pid: process.pid,
    calls: state.calls,
    notifications: state.notifications,
    cancelled: state.cancelled,
    subscriptions: [...state.subscriptions],
    initializes: state.initializes,
    toolCalls: state.toolCalls,
    level: state.level,
  };
}

/** Name to `(state, message, args, idText)`; each answers by itself, so that it can also fail to. */
const tools = {
  echo: ({ output }, { id }, args) => output.result(id, text(String(args.message ?? ''))),
  arguments: ({ output }, { id, params }) => output.result(id, text(JSON.stringify(params))),
  delay: async ({ output }, { id }, args) => {
    await wait(bounded(args.ms, 100));
    output.result(id, text(String(args.message ?? '')));
  },
  error: ({ output }, { id }, args) => output.error(id, args.code ?? -32000, args.message ?? 'as asked'),
  'tool-error': ({ output }, { id }) => output.result(id, { ...text('as asked'), isError: true }),
  large: ({ output }, { id }, args) => output.result(id, text('x'.repeat(Math.min(args.bytes ?? 1e6, 256e6)))),
  nested: ({ output }, { id }, args) => {
    const depth = bounded(args.depth, 1000);
    output.line(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"deep":${'['.repeat(depth)}${']'.repeat(depth)}}}`,
    );
  },
  raw: ({ output }, _message, args, idText) =>
    output.line(`{"jsonrpc":"2.0","id":${idText},"result":${String(args.result)}}`),
  lossless: ({ output }, _message, _args, idText) =>
    output.line(`{"jsonrpc":"2.0","id":${idText},"result":${losslessResult}}`),
  lines: ({ output }, { id }, args, idText) => {
    for (const line of args.lines ?? []) output.raw(`${line.replaceAll('$ID', idText)}\n`);
    if (args.answer !== false) output.result(id, text('done'));
  },
  'pretty-answer': ({ output }, { id }) =>
    output.raw(`${JSON.stringify({ jsonrpc: '2.0', id, result: text('pretty') }, null, 2)}\n`),
  'batch-answer': ({ output }, { id }) =>
    output.line(
      JSON.stringify([
        { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
        { jsonrpc: '2.0', id, result: text('batch') },
      ]),
    ),
  'unterminated-answer': ({ output }, { id }) => {
    output.raw(JSON.stringify({ jsonrpc: '2.0', id, result: text('last words') }));
    setTimeout(() => die(0), 20);
  },
  duplicate: ({ output }, { id }, args) =>
    repeat(undefined, bounded(args.times, 2), (index) => output.result(id, text(`answer ${index}`))),
  'wrong-ids': ({ output }, { id }, args) => {
    const ids = args.ids ?? [String(id), Number(id) + 1000, -1, 1.5, null, { a: 1 }, 'nobody', true];
    for (const wrong of ids) output.line(JSON.stringify({ jsonrpc: '2.0', id: wrong, result: text('not yours') }));
    output.result(id, text('yours'));
  },
  'string-id': ({ output }, { id }) => output.result(String(id), text('answered under a string id')),
  'no-answer': () => {},
  crash: (_state, _message, args) => die(args.how ?? 1),
  'crash-mid-answer': ({ output }, { id }, args) => {
    output.raw(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"ha`);
    die(args.how ?? 1);
  },
  'close-stdout': ({ output }) => {
    output.close();
    setInterval(() => {}, 3_600_000);
  },
  'close-stdin': ({ output }, { id }) => {
    process.stdin.destroy();
    setInterval(() => {}, 3_600_000);
    output.result(id, text('deaf from now on'));
  },
  block: ({ output }, { id }, args) => {
    block(args.ms);
    output.result(id, text('awake'));
  },
  stderr: ({ output }, { id }, args) => {
    process.stderr.write(`${'e'.repeat(Math.min(args.bytes ?? 1000, 16e6))}\n`);
    output.result(id, text('done'));
  },
  notify: (state, { id }, args) => {
    notify(state, args.method, args.params, args.sameChunk === true);
    state.output.send({ jsonrpc: '2.0', id, result: text('done') }, args.sameChunk === true);
    state.output.flush();
  },
  flood: (state, { id }, args) => {
    const method = args.method ?? 'notifications/message';
    repeat(state, bounded(args.count, 1000), (index) =>
      notify(state, method, { level: 'info', ...args.params, data: `flood ${index} ${args.padding ?? ''}` }),
    );
    state.output.result(id, text('done'));
  },
  progress,
  ask: async (state, { id }, args) => {
    const requests = args.requests ?? [{ method: args.method, params: args.params }];
    const put = ({ method, params }) => ask(state, method, params, args.timeoutMs);
    const answers = args.sequential === true ? await inTurn(requests, put) : await Promise.all(requests.map(put));
    state.output.result(id, text(JSON.stringify(args.requests === undefined ? answers[0] : answers)));
  },
  stats: (state, { id }) => state.output.result(id, text(JSON.stringify(statistics(state)))),
  environment: ({ output }, { id }, args) =>
    output.result(
      id,
      text(JSON.stringify(Object.fromEntries((args.names ?? []).map((name) => [name, process.env[name]])))),
    ),
};

/** The page of tools that `tools/list` answers with. */
export function listTools(script, params) {
  const all = Object.keys(tools).map((name) => ({
    name,
    description: `Misbehaves: ${name}`,
    inputSchema: { type: 'object' },
  }));
  const size = script.toolsPerPage;
  if (size === undefined) return { tools: all };
  const start = Number(params?.cursor ?? 0);
  const next = start + size;
  return { tools: all.slice(start, next), ...(next < all.length ? { nextCursor: String(next) } : {}) };
}

/** Runs one call. */
export function runTool(state, message, idText) {
  const tool = Object.hasOwn(tools, message.params?.name) ? tools[message.params.name] : undefined;
  if (tool === undefined) {
    state.output.error(message.id, -32602, `Unknown tool: ${message.params?.name}`);
    return;
  }
  void tool(state, message, message.params.arguments ?? {}, idText);
}
