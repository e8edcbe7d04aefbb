import { existsSync, readFileSync } from 'node:fs';

/** A message that a server double received. */
export interface JournalEntry {
  readonly pid: number;
  readonly method?: string;
  /** The tool or the prompt. */
  readonly name?: string;
}

/** What all processes of a server double have received, in the order in which they wrote it down. */
export function readJournal(file: string): readonly JournalEntry[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as JournalEntry);
}
