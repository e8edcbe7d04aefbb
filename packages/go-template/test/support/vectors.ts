import { readFileSync } from 'node:fs';
import { GoInteger, NIL_MAP } from '@thv/go-template';

/** What Go made of a template. */
export interface Vector {
  readonly name: string;
  readonly template: string;
  readonly data: unknown;
  /** Data in which objects like `{"$int": 3}` stand for values that JSON does not have. */
  readonly typed?: boolean;
  readonly output?: string;
  readonly error?: string;
  readonly stage?: 'parse' | 'exec';
}

export function readFixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8'));
}

export function readVectors(): readonly Vector[] {
  return readFixture('go-template-vectors.json') as readonly Vector[];
}

/** Puts real values in the place of the objects that stand for them. */
export function typed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(typed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only !== undefined) {
    const [key, inner] = only;
    if (key === '$int') return BigInt(inner as number);
    if (key === '$int64') return new GoInteger('int64', BigInt(inner as number));
    if (key === '$nilmap') return NIL_MAP;
  }
  return Object.fromEntries(entries.map(([key, inner]) => [key, typed(inner)]));
}
