// How the hostile server writes: whole lines, byte by byte, in one chunk, with a mark in front, with noise between.
import { closeSync, writeSync } from 'node:fs';

/** Ends this process by an exit code or by a signal, without a farewell. */
export function die(how) {
  if (typeof how === 'number') process.exit(how);
  process.kill(process.pid, how);
}

/** Writes to the pipe until it took everything; a full pipe is waited for, a closed one ends the process. */
function writeAll(bytes) {
  for (let offset = 0; offset < bytes.length;) {
    try {
      offset += writeSync(1, bytes, offset);
    } catch (error) {
      if (error.code !== 'EAGAIN') process.exit(0);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/** The writer for one script: `splitBytes`, `splitDelayMs`, `bom`, `crlf`, `linePrefix`, `lineSuffix`, `noiseEvery`. */
export function createOutput(script) {
  const lineEnd = script.crlf ? '\r\n' : '\n';
  let messages = 0;
  let held = [];
  let closed = false;
  let queue = Promise.resolve();

  async function writeSplit(bytes) {
    for (let offset = 0; offset < bytes.length; offset += script.splitBytes) {
      writeAll(bytes.subarray(offset, offset + script.splitBytes));
      await new Promise((resolve) => {
        if (script.splitDelayMs === undefined) setImmediate(resolve);
        else setTimeout(resolve, script.splitDelayMs);
      });
    }
  }

  function raw(text) {
    if (closed) return;
    const bytes = Buffer.from(text, 'utf8');
    if (script.splitBytes === undefined) writeAll(bytes);
    else queue = queue.then(() => writeSplit(bytes));
  }

  function line(text) {
    const first = messages === 0 && script.bom ? '\uFEFF' : '';
    messages += 1;
    if (script.noiseEvery !== undefined && messages % script.noiseEvery === 0) {
      raw(`[info] not a message ${messages}${lineEnd}`);
    }
    raw(`${first}${script.linePrefix ?? ''}${text}${script.lineSuffix ?? ''}${lineEnd}`);
  }

  return {
    raw,
    line,
    /** Sends an object; `hold` keeps it back until `flush`, so that several lines leave in one write. */
    send(message, hold = false) {
      const text = JSON.stringify(message);
      if (hold) held.push(text);
      else line(text);
    },
    result(id, result) {
      line(JSON.stringify({ jsonrpc: '2.0', id, result }));
    },
    error(id, code, message) {
      line(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
    },
    flush() {
      if (held.length === 0) return;
      raw(`${held.join(lineEnd)}${lineEnd}`);
      held = [];
    },
    close() {
      closed = true;
      closeSync(1);
    },
  };
}
