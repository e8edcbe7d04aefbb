// One keep-alive connection that has one request in flight: raw, so that the client costs less than what it measures.
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const SILENCE_MS = 20_000;
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/** Opens a connection; `exchange(bytes)` resolves with `{ status, head, body }`. */
export function openConnection(url) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let waiter;
  let head;
  let expected;
  let pieces = [];
  let length = 0;

  const reset = () => {
    head = undefined;
    expected = undefined;
    pieces = [];
    length = 0;
  };
  const fail = (error) => {
    waiter?.reject(error);
    waiter = undefined;
  };

  function readHead() {
    const bytes = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
    const end = bytes.indexOf(HEAD_END);
    if (end === -1) return false;
    head = bytes.latin1Slice(0, end).toLowerCase();
    const rest = bytes.subarray(end + 4);
    pieces = [rest];
    length = rest.length;
    const given = /content-length: (\d+)/.exec(head)?.[1];
    expected = given === undefined && head.includes('chunked') ? 'chunked' : Number(given ?? 0);
    return true;
  }

  /** A chunk of JSON or of events holds no raw CR, so the last chunk cannot be mistaken. */
  function isComplete() {
    if (expected !== 'chunked') return length >= expected;
    if (length < 5) return false;
    let tail = pieces.at(-1);
    if (tail.length < 7 && pieces.length > 1) tail = Buffer.concat(pieces.slice(-7));
    return tail.subarray(-7).equals(LAST_CHUNK) || (length === 5 && tail.equals(LAST_CHUNK.subarray(2)));
  }

  socket.on('data', (chunk) => {
    pieces.push(chunk);
    length += chunk.length;
    if (head === undefined && !readHead()) return;
    if (!isComplete()) return;
    const answer = { status: Number(head.slice(9, 12)), head, pieces };
    const { resolve } = waiter;
    waiter = undefined;
    reset();
    resolve(answer);
  });
  socket.on('error', fail);
  socket.on('close', () => fail(new Error('The connection was closed')));
  // One timer on the socket, for a target that never answers; a timer for each request would cost more than the request.
  socket.setTimeout(SILENCE_MS, () => socket.destroy(new Error(`No answer within ${SILENCE_MS} ms`)));

  return {
    /** False once the server has closed it, which servers do with connections that idle. */
    isOpen: () => !socket.destroyed && !socket.readableEnded,
    exchange: (bytes) =>
      new Promise((resolve, reject) => {
        waiter = { resolve, reject };
        socket.write(bytes);
      }),
    close: () => socket.destroy(),
  };
}

/** The text of an answer's body. */
export const textOf = (answer) => Buffer.concat(answer.pieces).toString('utf8');

/** The bytes of a request. */
export function requestBytes(url, method, body, sessionId) {
  const { host, pathname, search } = new URL(url);
  const session = sessionId === undefined ? '' : `mcp-session-id: ${sessionId}\r\n`;
  return (
    `${method} ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\naccept: application/json, text/event-stream\r\n` +
    `content-type: application/json\r\nmcp-protocol-version: 2025-06-18\r\n${session}` +
    `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}
