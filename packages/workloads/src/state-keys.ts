import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { WorkloadsError } from './errors.js';
import { messageOf } from './json-file.js';

/** A key for request states, as the gateway takes it. */
export interface StateKeyEntry {
  readonly id: string;
  readonly key: Uint8Array;
}

const FORMS = [
  /^(?:([A-Za-z0-9_-]{1,32})\s+)?([0-9a-fA-F]{64})$/,
  /^(?:([A-Za-z0-9_-]{1,32})\s+)?([A-Za-z0-9+/_-]{43}=?)$/,
];

/**
 * Reads keys for request states: one a line, 32 bytes in hexadecimal or base64, an id before it if it shall have one.
 * The first key seals, all of them open. Empty lines and lines that begin with `#` do not count.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_FILE` with file and line
 */
export function parseStateKeys(text: string, path: string): readonly StateKeyEntry[] {
  const keys = text.split(/\r?\n/).flatMap((line, index) => {
    const trimmed = line.trim();
    return trimmed === '' || trimmed.startsWith('#') ? [] : [parseLine(trimmed, path, index + 1)];
  });
  if (keys.length === 0) throw refused(`${path}: there is no key in it`, path);
  const repeated = keys.find(({ id }, index) => keys.findIndex((other) => other.id === id) !== index);
  if (repeated !== undefined) throw refused(`${path}: the key "${repeated.id}" stands there twice`, path);
  return keys;
}

/** {@link parseStateKeys} for a file. */
export async function readStateKeys(path: string): Promise<readonly StateKeyEntry[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw refused(`${path} cannot be read: ${messageOf(cause)}`, path, cause);
  }
  return parseStateKeys(text, path);
}

function parseLine(line: string, path: string, number: number): StateKeyEntry {
  for (const [index, form] of FORMS.entries()) {
    const [, name, digits] = form.exec(line) ?? [];
    if (digits === undefined) continue;
    const key = Buffer.from(digits.replaceAll('-', '+').replaceAll('_', '/'), index === 0 ? 'hex' : 'base64');
    if (key.length === 32) return { id: name ?? createHash('sha256').update(key).digest('hex').slice(0, 8), key };
  }
  throw refused(`${path}:${number}: expected a key of 32 bytes in hexadecimal or base64`, path);
}

// The text of the line is no part of the message: it may be a key with a slip of the pen in it.
function refused(message: string, path: string, cause?: unknown): WorkloadsError {
  return new WorkloadsError('ERR_WORKLOADS_FILE', message, {
    details: { file: path, hint: `openssl rand -hex 32 > ${path}` },
    ...(cause === undefined ? {} : { cause }),
  });
}
