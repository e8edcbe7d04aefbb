import { mkdir, open, readFile, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import { WorkloadsError } from './errors.js';

/** Nobody but the owner reads what may hold a token. */
const fileMode = 0o600;
const folderMode = 0o700;
const maxBytes = 4 * 1024 * 1024;

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

export async function ensureFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: folderMode });
}

/** Writes in one step: a reader sees the old text or the new one, also after a crash. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await writeText(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Writes a text file of mode 0600 in one step: a reader sees the old text or the new one. Its folder is created. */
export async function writeText(path: string, text: string): Promise<void> {
  await ensureFolder(dirname(path));
  await writeFileAtomic(path, text, { mode: fileMode });
}

/** Writes a file that must not exist yet; of several that try at once, one succeeds and the others get `EEXIST`. */
export async function createJson(path: string, value: unknown): Promise<void> {
  await ensureFolder(dirname(path));
  const file = await open(path, 'wx', fileMode);
  try {
    await file.writeFile(`${JSON.stringify(value, null, 2)}\n`);
  } catch (error) {
    // A full disk must not leave half a file that keeps the name taken.
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Removes a file, and what a process that was killed while it wrote it left beside it. */
export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  const folder = dirname(path);
  const entries = await readdir(folder).catch(() => []);
  const start = `${basename(path)}.`;
  const left = entries.filter((entry) => entry.startsWith(start) && /^\d+$/.test(entry.slice(start.length)));
  for (const entry of left) await rm(join(folder, entry), { force: true });
}

/** Reads a file that must be a JSON object; `undefined` when there is none. */
export async function readJsonObject(path: string, remedy: string): Promise<Map<string, unknown> | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new WorkloadsError('ERR_WORKLOADS_FILE', `${path} cannot be read: ${messageOf(error)}`, {
      details: { file: path, hint: remedy },
      cause: error,
    });
  }
  return parseJsonObject(text, path, remedy);
}

/**
 * Parses the text of a file that must be a JSON object.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_FILE` with file, line and remedy.
 */
export function parseJsonObject(text: string, path: string, remedy: string): Map<string, unknown> {
  if (text.length > maxBytes) {
    throw new WorkloadsError('ERR_WORKLOADS_FILE', `${path} is larger than ${maxBytes} bytes`, {
      details: { file: path, hint: remedy },
    });
  }
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const line = lineOf(text, messageOf(error));
    throw new WorkloadsError('ERR_WORKLOADS_FILE', `${path}:${line}: this is no valid JSON: ${messageOf(error)}`, {
      details: { file: path, line, hint: remedy },
      cause: error,
    });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new WorkloadsError('ERR_WORKLOADS_FILE', `${path}: expected a JSON object, got ${describe(value)}`, {
      details: { file: path, hint: remedy },
    });
  }
  return new Map(Object.entries(value));
}

/** Names the value and its type, for messages. */
export function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (value === null) return 'null';
  if (typeof value === 'object') return 'an object';
  const text = String(value);
  return `\`${text.length > 60 ? `${text.slice(0, 60)}…` : text}\` (${typeof value})`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function lineOf(text: string, message: string): number {
  const position = /position (\d+)/.exec(message)?.[1];
  const before = position === undefined ? text.trimEnd() : text.slice(0, Number(position));
  return before.split('\n').length;
}
