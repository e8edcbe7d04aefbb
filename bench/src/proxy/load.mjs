// The load generator, a process of its own: takes commands over IPC, one at a time, and answers each with a message.
// Every loop ends by count and by time.
import { openConnection, requestBytes, textOf } from './connection.mjs';
import { ENVELOPE, ENVELOPE_BYTES, modernHead } from './modern.mjs';
import { payload } from './payload.mjs';
import { quantile } from '../lib/stats.mjs';

const url = process.argv[2];
const LIMIT = 1_000_000;
const connections = [];
const sessions = [];
let lastId = 0;

function connectionAt(index) {
  if (connections[index]?.isOpen() !== true) connections[index] = openConnection(url);
  return connections[index];
}

async function initialize(connection) {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'load', version: '1.0.0' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'first', method: 'initialize', params });
  const answer = await connection.exchange(requestBytes(url, 'POST', body));
  const session = /mcp-session-id: (\S+)/.exec(answer.head)?.[1];
  if (answer.status !== 200) throw new Error(`initialize: ${answer.status} ${textOf(answer).slice(0, 300)}`);
  const ready = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const accepted = await connection.exchange(requestBytes(url, 'POST', ready, session));
  if (accepted.status >= 300) throw new Error(`notifications/initialized: ${accepted.status}`);
  return session;
}

/** Opens sessions until there are `count`, one for each connection. */
async function ensureSessions(count) {
  while (sessions.length < count) sessions.push(await initialize(connectionAt(sessions.length)));
}

/** Requests of one connection until the time is over; checks every answer's status and id, and every 32nd body. */
async function runConnection(index, text, era, deadline, collect) {
  const connection = connectionAt(index);
  const more = era === 'modern' ? ENVELOPE : '';
  const [before, after] = [
    `{"jsonrpc":"2.0","id":`,
    `,"method":"tools/call","params":{"name":"echo","arguments":${text.json}${more}}}`,
  ];
  const [head] =
    era === 'modern' ? [modernHead(url)] : requestBytes(url, 'POST', '', sessions[index]).split('content-length');
  const size = Buffer.byteLength(before) + Buffer.byteLength(after);
  while (performance.now() < deadline && collect.latencies.length < LIMIT) {
    lastId += 1;
    const id = String(lastId);
    const started = performance.now();
    const answer = await connection.exchange(
      `${head}content-length: ${size + id.length}\r\n\r\n${before}${id}${after}`,
    );
    collect.latencies.push(performance.now() - started);
    if (answer.status !== 200 || !isAnswer(answer, id, text.mark)) {
      collect.wrong += 1;
      collect.example ??= `${answer.head.split('\r\n')[0]} ${textOf(answer).slice(0, 200)}`;
    }
  }
}

function isAnswer(answer, id, mark) {
  if (Number(id) % 32 !== 0) return true;
  const text = textOf(answer);
  return text.includes(`"id":${id}`) && text.includes(mark);
}

/** `equalBodies` pads what carries no envelope, so that requests of both eras have as many bytes. */
async function measure({ connections: count, kind, bytes, ms, era = 'legacy', equalBodies = false }) {
  if (era === 'legacy') await ensureSessions(count);
  const text = payload(kind, equalBodies && era === 'legacy' ? bytes + ENVELOPE_BYTES : bytes);
  const collect = { latencies: [], wrong: 0, example: undefined };
  const started = performance.now();
  await Promise.all(
    Array.from({ length: count }, (_value, index) => runConnection(index, text, era, started + ms, collect)),
  );
  const seconds = (performance.now() - started) / 1000;
  const sorted = collect.latencies.sort((a, b) => a - b);
  return {
    requests: sorted.length,
    seconds,
    perSecond: sorted.length / seconds,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    wrong: collect.wrong,
    example: collect.example,
  };
}

/** Opens new sessions on eight connections and leaves them open. */
async function openSessions({ count }) {
  const latencies = [];
  let opened = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: 8 }, async (_value, index) => {
      while (opened < count) {
        opened += 1;
        const from = performance.now();
        await initialize(connectionAt(index));
        latencies.push(performance.now() - from);
      }
    }),
  );
  const ms = performance.now() - started;
  return {
    ms,
    p50: quantile(
      latencies.sort((a, b) => a - b),
      0.5,
    ),
  };
}

async function closeSessions() {
  for (const [index, session] of sessions.entries()) {
    await connectionAt(index).exchange(requestBytes(url, 'DELETE', '', session));
  }
  return {};
}

const commands = { measure, openSessions, closeSessions };

process.on('message', ({ command, ...options }) => {
  commands[command](options).then(
    (result) => process.send({ result }),
    (error) => process.send({ error: error.message }),
  );
});
process.on('disconnect', () => process.exit(0));
