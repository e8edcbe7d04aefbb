import type { JsonValue } from '../json.js';
import { pointerTo, type PlaceMap, type Places } from './place.js';

/** One document: its value and where each part of it stands. */
export interface Tree {
  readonly value: JsonValue;
  readonly places: PlaceMap;
}

/** Bounds of a value that comes as an object instead of text. */
const MAX_NODES = 1_000_000;
const MAX_DEPTH = 200;

/** Thrown by {@link treeOf} for what JSON cannot say. */
export class NotJsonError extends Error {
  readonly pointer: string;

  constructor(pointer: string, message: string) {
    super(message);
    this.pointer = pointer;
  }
}

/** Copies an object that was made in code, normalising numbers to float64 and refusing what JSON cannot say. */
export function treeOf(input: unknown): Tree {
  const places = new Map<string, Places>();
  const copy = (value: unknown, pointer: string, depth: number): JsonValue => {
    if (depth > MAX_DEPTH) throw new NotJsonError(pointer, `is nested deeper than ${MAX_DEPTH} levels`);
    if (places.size >= MAX_NODES) throw new NotJsonError(pointer, `is too large: more than ${MAX_NODES} values`);
    places.set(pointer, { key: undefined, value: undefined, order: places.size });
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'bigint') return Number(value);
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    if (Array.isArray(value)) return value.map((item, index) => copy(item, pointerTo(pointer, index), depth + 1));
    if (typeof value !== 'object') throw new NotJsonError(pointer, `is no JSON value (${typeof value})`);
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    return Object.fromEntries(
      entries
        .filter(([, item]) => item !== undefined)
        .map(([key, item]) => [String(key), copy(item, pointerTo(pointer, String(key)), depth + 1)]),
    );
  };
  return { value: copy(input, '', 0), places };
}
