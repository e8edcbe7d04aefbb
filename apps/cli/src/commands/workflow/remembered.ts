import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CliContext } from '../../context.js';
import { pathsOf } from '../../workloads.js';

/** How a run was started, so that `resume` needs nothing but its id. */
export interface Remembered {
  /** Absolute path of the servers file. */
  readonly servers?: string;
  readonly group?: string;
  /** Absolute path of the answers file. */
  readonly answers?: string;
}

const folderOf = (context: CliContext): string => join(pathsOf(context).state, 'workflow-runs');
const fileOf = (id: string, context: CliContext): string => join(folderOf(context), `${encodeURIComponent(id)}.json`);

/** Writes down how a run was started. */
export async function remember(id: string, how: Remembered, context: CliContext): Promise<void> {
  await mkdir(folderOf(context), { recursive: true, mode: 0o700 });
  await forgetOld(context);
  await writeFile(fileOf(id, context), `${JSON.stringify(how)}\n`, { mode: 0o600 });
}

/** How a run was started; empty where nothing is known. */
export async function recall(id: string, context: CliContext): Promise<Remembered> {
  try {
    const value: unknown = JSON.parse(await readFile(fileOf(id, context), 'utf8'));
    if (typeof value !== 'object' || value === null) return {};
    const entries = ['servers', 'group', 'answers'].map(
      (key) => [key, (value as Record<string, unknown>)[key]] as const,
    );
    return Object.fromEntries(entries.filter(([, text]) => typeof text === 'string'));
  } catch {
    return {};
  }
}

/** A run that is over needs nothing any more. */
export async function forget(id: string, context: CliContext): Promise<void> {
  await rm(fileOf(id, context), { force: true });
}

const keptMs = 30 * 24 * 3_600_000;
const maxLooked = 1000;

/** The store forgets runs after a while; what belongs to them must not stay for ever. */
async function forgetOld(context: CliContext): Promise<void> {
  const folder = folderOf(context);
  for (const name of (await readdir(folder)).slice(0, maxLooked)) {
    const path = join(folder, name);
    const changed = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (changed !== undefined && changed < Date.now() - keptMs) await rm(path, { force: true });
  }
}
