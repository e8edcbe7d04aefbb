// A stdio MCP server that misbehaves on request: `node hostile-server.mjs '{"crash":{"at":"initialize"}}'`.
// The script comes as JSON in the first argument or in HOSTILE_SCRIPT; README.md explains every field and tool.
// Plain Node, no SDK: what it writes is exactly what the script says.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createOutput, die } from './output.mjs';
import { listTools, runTool } from './tools.mjs';

const script = JSON.parse(process.argv[2] ?? process.env.HOSTILE_SCRIPT ?? '{}');
const output = createOutput(script);
const state = {
  script,
  output,
  calls: {},
  notifications: [],
  cancelled: [],
  subscriptions: new Set(),
  asked: new Map(),
  nextAsk: 1,
  toolCalls: 0,
  initializes: 0,
  level: undefined,
  list: [],
};

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
};

function crashAt(point, idText) {
  const { crash } = script;
  if (crash?.at !== point) return false;
  if (point.includes('call') && state.toolCalls <= (crash.after ?? 0)) return false;
  if (point === 'mid-call') output.raw(`{"jsonrpc":"2.0","id":${idText},"result":{"content":[{"type":"te`);
  die(crash.how ?? 1);
  return true;
}

function initialize(message) {
  state.initializes += 1;
  if (state.initializes > 1) {
    if (script.secondInitialize === 'exit') die(3);
    if (script.secondInitialize === 'error') {
      return output.error(message.id, -32600, 'duplicate initialize received');
    }
  }
  const answer = () => {
    if (crashAt('initialize')) return;
    if (script.initializeError !== undefined) {
      output.error(message.id, script.initializeError.code, script.initializeError.message);
      return;
    }
    output.result(message.id, {
      protocolVersion: script.protocolVersion ?? message.params?.protocolVersion ?? '2025-11-25',
      capabilities: script.capabilities ?? capabilities,
      serverInfo: { name: 'hostile', version: '1.0.0' },
      instructions: 'Expect anything.',
    });
    crashAt('after-initialize');
  };
  later(script.initializeDelayMs, answer);
}

function later(delayMs, action) {
  if (delayMs === undefined) action();
  else setTimeout(action, delayMs);
}

function callTool(message, idText) {
  state.toolCalls += 1;
  if (crashAt('call') || crashAt('mid-call', idText)) return;
  runTool(state, message, idText);
  if (script.crash?.at === 'after-call' && state.toolCalls > (script.crash.after ?? 0)) {
    setTimeout(() => die(script.crash.how ?? 1), script.crash.delayMs ?? 20);
  }
}

const methods = {
  initialize,
  ping: ({ id }) => output.result(id, {}),
  'tools/list': ({ id, params }) => output.result(id, listTools(script, params)),
  'tools/call': callTool,
  'resources/list': ({ id }) => output.result(id, { resources: [{ uri: 'hostile://one', name: 'one' }] }),
  'resources/templates/list': ({ id }) => output.result(id, { resourceTemplates: [] }),
  'resources/read': ({ id, params }) =>
    output.result(id, { contents: [{ uri: params.uri, text: `content of ${params.uri}` }] }),
  'resources/subscribe': ({ id, params }) => {
    if (script.refuseSubscribe) return output.error(id, -32602, `cannot subscribe to ${params.uri}`);
    state.subscriptions.add(params.uri);
    output.result(id, {});
  },
  'resources/unsubscribe': ({ id, params }) => {
    state.subscriptions.delete(params.uri);
    output.result(id, {});
  },
  'prompts/list': ({ id }) => output.result(id, { prompts: [{ name: 'greet' }] }),
  'prompts/get': ({ id }) =>
    output.result(id, { messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }] }),
  'logging/setLevel': ({ id, params }) => {
    state.level = params.level;
    output.result(id, {});
  },
  'completion/complete': ({ id }) => output.result(id, { completion: { values: ['one', 'two'] } }),
};

/** The id as the peer wrote it, so that an answer can carry the same digits. */
function idTextOf(message, line) {
  if (typeof message.id !== 'number' || Number.isSafeInteger(message.id)) return JSON.stringify(message.id);
  return /"id"\s*:\s*(-?[0-9.eE+-]+)/.exec(line)?.[1] ?? JSON.stringify(message.id);
}

function receive(line) {
  const message = JSON.parse(line);
  if (script.journal !== undefined) {
    const { method, params } = message;
    appendFileSync(script.journal, `${JSON.stringify({ pid: process.pid, method, name: params?.name })}\n`);
  }
  if (message.method === undefined) {
    state.asked.get(message.id)?.(message);
    state.asked.delete(message.id);
    return;
  }
  state.calls[message.method] = (state.calls[message.method] ?? 0) + 1;
  if (message.id === undefined) {
    state.notifications.push({ method: message.method, params: message.params });
    if (message.method === 'notifications/cancelled') state.cancelled.push(message.params);
    if (message.method === 'notifications/initialized') crashAt('initialized');
    return;
  }
  if (script.silentMethods?.includes(message.method)) return;
  const handler = methods[message.method];
  if (handler === undefined) output.error(message.id, -32601, `Method not found: ${message.method}`);
  else handler(message, idTextOf(message, line));
}

function readInput() {
  let rest = Buffer.alloc(0);
  process.stdin.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      const line = rest.subarray(0, end).toString('utf8');
      rest = rest.subarray(end + 1);
      if (line.trim() !== '') receive(line);
    }
    output.flush();
  });
  process.stdin.on('end', () => {
    if (!script.ignoreStdinEnd) process.exit(0);
  });
}

function start() {
  for (const signal of script.ignoreSignals ?? []) process.on(signal, () => {});
  if (script.ignoreStdinEnd || script.readNothing) setInterval(() => {}, 3_600_000);
  if (script.grandchild !== undefined) {
    const program = fileURLToPath(new URL('./grandchild.mjs', import.meta.url));
    spawn(process.execPath, [program, JSON.stringify(script.grandchild)], {
      stdio: script.grandchild.inheritStdio ? 'inherit' : 'ignore',
    });
  }
  if (script.stderrBytes !== undefined) process.stderr.write(`${'e'.repeat(script.stderrBytes)}\n`);
  for (const line of script.stderrLines ?? []) process.stderr.write(`${line}\n`);
  if (crashAt('start')) return;
  for (const line of script.banner ?? []) output.raw(`${line}\n`);
  if (script.closeStdoutAtStart) output.close();
  if (!script.readNothing) readInput();
}

later(script.startDelayMs, start);
