/** A place in a text, from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Where a value and its key stand. */
export interface Places {
  /** Of the key; that of the value for the items of a list. */
  readonly key: Place | undefined;
  readonly value: Place | undefined;
  /** Rank in the document, for the order of findings. */
  readonly order: number;
}

/** The places of all values of a document, by JSON Pointer (RFC 6901). */
export type PlaceMap = ReadonlyMap<string, Places>;

/** Appends a segment to a JSON Pointer. */
export function pointerTo(pointer: string, segment: string | number): string {
  return `${pointer}/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
