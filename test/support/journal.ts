import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJournal } from '../doubles/src/index.js';
import type { JournalEntry } from '../doubles/src/index.js';

/** A file for what the processes of a server receive, in a folder of its own. */
export interface Journal {
  readonly file: string;
  entries(): readonly JournalEntry[];
  /** How often a tool was called, whichever process did it. */
  calls(tool: string): number;
  /** Everything but what a gateway asks for its own sake. */
  touches(): number;
  close(): Promise<void>;
}

const OWN: ReadonlySet<string | undefined> = new Set([
  'server/discover',
  'initialize',
  'notifications/initialized',
  'tools/list',
]);

/** Opens an empty journal. */
export async function openJournal(): Promise<Journal> {
  const folder = await mkdtemp(join(tmpdir(), 'thv-journal-'));
  const file = join(folder, 'journal');
  const entries = () => readJournal(file);
  return {
    file,
    entries,
    calls: (tool) => entries().filter(({ method, name }) => method === 'tools/call' && name === tool).length,
    touches: () => entries().filter(({ method }) => !OWN.has(method)).length,
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
