import type { Issue, RuleId } from '../issue.js';
import { isObject, own, type JsonObject, type JsonValue } from '../json.js';
import { nearest } from './nearest.js';
import { pointerTo, type Place, type Places } from './place.js';
import type { Tree } from './tree.js';

/** What a finding adds to its message. */
export interface Finding {
  readonly hint?: string | undefined;
  readonly severity?: 'error' | 'warning';
  /** Point at the key instead of the value. */
  readonly atKey?: boolean;
  readonly stepId?: string | undefined;
}

/** A finding with its rank in the document. */
export interface RankedIssue {
  readonly order: number;
  readonly issue: Issue;
}

/** A value in a tree, with its path for messages; the value may be absent. */
export class Cursor {
  readonly value: JsonValue | undefined;
  /** Such as `spec.steps[1].tool`. */
  readonly path: string;
  /** JSON Pointer into the document. */
  readonly pointer: string;
  readonly #tree: Tree;
  readonly #issues: RankedIssue[];

  constructor(tree: Tree, issues: RankedIssue[], value: JsonValue | undefined, path: string, pointer: string) {
    this.#tree = tree;
    this.#issues = issues;
    this.value = value;
    this.path = path;
    this.pointer = pointer;
  }

  /** At the root of a document. */
  static at(tree: Tree, issues: RankedIssue[]): Cursor {
    return new Cursor(tree, issues, tree.value, '', '');
  }

  get present(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  /** The value as an object; empty where it is none. */
  get object(): JsonObject {
    return isObject(this.value) ? this.value : {};
  }

  /** A part of the value by JSON Pointer, for findings of others that speak in pointers. */
  deep(pointer: string, path: string): Cursor {
    let value: JsonValue | undefined = this.value;
    for (const segment of pointer.split('/').slice(1)) {
      const key = segment.replaceAll('~1', '/').replaceAll('~0', '~');
      value = Array.isArray(value)
        ? (value as readonly JsonValue[])[Number(key)]
        : isObject(value)
          ? own(value, key)
          : undefined;
    }
    return new Cursor(this.#tree, this.#issues, value, path, `${this.pointer}${pointer}`);
  }

  /** The value of a key, under another path than the usual one where that is given. */
  get(key: string, path = this.path === '' ? key : `${this.path}.${key}`): Cursor {
    return new Cursor(this.#tree, this.#issues, own(this.object, key), path, pointerTo(this.pointer, key));
  }

  /** The value of a key that is no field but a name: `arguments[key]`. */
  entry(key: string): Cursor {
    return this.get(key, `${this.path}[${key}]`);
  }

  /** The items of a list. */
  items(): Cursor[] {
    const list = Array.isArray(this.value) ? (this.value as readonly JsonValue[]) : [];
    return list.map(
      (item, index) =>
        new Cursor(this.#tree, this.#issues, item, `${this.path}[${index}]`, pointerTo(this.pointer, index)),
    );
  }

  /** The entries of an object. */
  entries(): (readonly [string, Cursor])[] {
    return Object.keys(this.object).map((key) => [key, this.entry(key)] as const);
  }

  /** Where the value stands, if it came from text. */
  get place(): Place | undefined {
    return this.#nearestPlaces()?.value;
  }

  /** The same value with another list for findings. */
  reopen(issues: RankedIssue[]): Cursor {
    return new Cursor(this.#tree, issues, this.value, this.path, this.pointer);
  }

  /** Notes a finding. The message is whole: it names path and value. */
  report(code: RuleId, message: string, { hint, severity = 'error', atKey = false, stepId }: Finding = {}): void {
    const places = this.#nearestPlaces();
    const place = atKey ? places?.key : (places?.value ?? places?.key);
    const issue: Issue = {
      severity,
      code,
      path: this.path,
      message,
      ...(hint === undefined ? {} : { hint }),
      ...(stepId === undefined ? {} : { stepId }),
      ...(this.value === undefined || (typeof this.value === 'object' && this.value !== null)
        ? {}
        : { value: this.value }),
      ...place,
    };
    this.#issues.push({ order: places?.order ?? 0, issue });
  }

  /** Reports every key that is not in the list. */
  allowKeys(
    keys: readonly string[],
    hints: Readonly<Record<string, string>> = {},
    code: RuleId = 'workflow/unknown-key',
  ): void {
    for (const key of Object.keys(this.object)) {
      if (keys.includes(key)) continue;
      const near = nearest(key, keys);
      const own = Object.hasOwn(hints, key) ? hints[key] : undefined;
      const hint = own ?? (near === undefined ? `known keys: ${keys.join(', ')}` : `did you mean "${near}"?`);
      const at = this.path === '' ? 'the definition' : this.path;
      this.get(key).report(code, `${at} has an unknown key ${JSON.stringify(key)}`, { hint, atKey: true });
    }
  }

  /** Where the value stands; an absent value stands where the object does that lacks it. */
  #nearestPlaces(): Places | undefined {
    for (let pointer = this.pointer; ; pointer = pointer.slice(0, pointer.lastIndexOf('/'))) {
      const places = this.#tree.places.get(pointer);
      if (places !== undefined || pointer === '') return places;
    }
  }
}

/** Findings in the order of the document. */
export function inDocumentOrder(issues: readonly RankedIssue[]): Issue[] {
  return issues.toSorted((a, b) => a.order - b.order).map(({ issue }) => issue);
}
