import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type Document,
  type ParsedNode,
  type Alias,
  type Node,
  type YAMLMap,
} from 'yaml';
import type { Issue, RuleId } from '../issue.js';
import type { JsonValue } from '../json.js';
import { pointerTo, type Place, type Places } from './place.js';
import type { Tree } from './tree.js';

/** Bounds of a text. */
export interface TextLimits {
  /** @defaultValue 4 MiB */
  readonly maxBytes: number;
  /** Uses of an anchor in one document. @defaultValue 100 */
  readonly maxAliases: number;
  /** Values in one document, those behind an alias counted each time. @defaultValue 200_000 */
  readonly maxNodes: number;
  /** Levels of nesting. @defaultValue 100 */
  readonly maxDepth: number;
}

/** Default bounds of a text. */
export const TEXT_LIMITS: TextLimits = { maxBytes: 4 * 1024 * 1024, maxAliases: 100, maxNodes: 200_000, maxDepth: 100 };

/** What a text contains. */
export interface Documents {
  /** Without empty documents and those that are broken. */
  readonly trees: readonly Tree[];
  readonly issues: readonly Issue[];
}

const START: Place = { line: 1, column: 1 };
const MAX_SYNTAX_ERRORS = 3;

/** Reads YAML 1.2 of the core schema, or JSON, with the place of every value. Never throws. */
export function readDocuments(text: string, limits: TextLimits = TEXT_LIMITS): Documents {
  const bytes = Buffer.byteLength(text);
  if (bytes > limits.maxBytes) {
    const message = `the file is too large: ${bytes} bytes (max ${limits.maxBytes})`;
    return { trees: [], issues: [issue('workflow/syntax', message, START, 'split it into several files')] };
  }
  if (nesting(text) > limits.maxDepth * 4) {
    const message = `the file is nested deeper than ${limits.maxDepth} levels`;
    return { trees: [], issues: [issue('workflow/syntax', message, START, 'make it flatter')] };
  }
  const counter = new LineCounter();
  let documents: Document.Parsed[];
  try {
    const parsed = parseAllDocuments(text, {
      version: '1.2',
      schema: 'core',
      uniqueKeys: false,
      prettyErrors: false,
      lineCounter: counter,
      stringKeys: false,
    });
    documents = Array.isArray(parsed) ? parsed : [];
  } catch (error) {
    const message = `the file is no YAML: ${error instanceof Error ? error.message : String(error)}`;
    return { trees: [], issues: [issue('workflow/syntax', message, START)] };
  }
  const trees: Tree[] = [];
  const issues: Issue[] = [];
  for (const document of documents) {
    const found = new TreeReader(document, counter, limits).read();
    issues.push(...found.issues);
    if (found.tree !== undefined) trees.push(found.tree);
  }
  return { trees, issues };
}

/** The deepest run of flow brackets: the YAML parser recurses, and a stack has an end. */
function nesting(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index);
    if (char === 0x5b || char === 0x7b) deepest = Math.max(deepest, (depth += 1));
    else if (char === 0x5d || char === 0x7d) depth = Math.max(0, depth - 1);
  }
  return deepest;
}

function issue(code: RuleId, message: string, place: Place, hint?: string): Issue {
  return { severity: 'error', code, path: '', message, ...place, ...(hint === undefined ? {} : { hint }) };
}

/** Stops reading a document; the finding has been noted. */
class Stop extends Error {}

class TreeReader {
  readonly #document: Document.Parsed;
  readonly #counter: LineCounter;
  readonly #limits: TextLimits;
  readonly #places = new Map<string, Places>();
  readonly #issues: Issue[] = [];
  readonly #open = new Set<Node>();
  #aliases = 0;
  #nodes = 0;

  constructor(document: Document.Parsed, counter: LineCounter, limits: TextLimits) {
    this.#document = document;
    this.#counter = counter;
    this.#limits = limits;
  }

  read(): { readonly tree: Tree | undefined; readonly issues: readonly Issue[] } {
    // What follows the first errors mostly follows from them.
    for (const error of this.#document.errors.slice(0, MAX_SYNTAX_ERRORS)) {
      const place = this.#place(error.pos[0]) ?? START;
      this.#issues.push(
        issue('workflow/syntax', `the file is no YAML: ${error.message}`, place, 'correct the text at this place'),
      );
    }
    for (const warning of this.#document.warnings) {
      const place = this.#place(warning.pos[0]) ?? START;
      this.#issues.push(issue('workflow/syntax', warning.message, place, 'write the value without a tag'));
    }
    const root = this.#document.contents;
    if (root === null || this.#document.errors.length > 0 || (isScalar(root) && root.value === null))
      return { tree: undefined, issues: this.#issues };
    try {
      const value = this.#value(root, '', undefined, 0);
      return { tree: { value, places: this.#places }, issues: this.#issues };
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
      return { tree: undefined, issues: this.#issues };
    }
  }

  #value(node: unknown, pointer: string, key: Place | undefined, depth: number): JsonValue {
    const target = isAlias(node) ? this.#resolve(node) : (node as ParsedNode | null);
    const place = this.#place((node as ParsedNode | null)?.range?.[0]);
    this.#nodes += 1;
    if (this.#nodes > this.#limits.maxNodes) this.#stop(place, `more than ${this.#limits.maxNodes} values`);
    if (depth > this.#limits.maxDepth) this.#stop(place, `nested deeper than ${this.#limits.maxDepth} levels`);
    this.#places.set(pointer, { key: key ?? place, value: place ?? key, order: this.#nodes });
    if (target === null || target === undefined) return null;
    if (isScalar(target)) return this.#scalar(target.value, place);
    this.#open.add(target);
    let value: JsonValue;
    if (isSeq(target)) {
      value = target.items.map((item, index) => this.#value(item, pointerTo(pointer, index), undefined, depth + 1));
    } else if (isMap(target)) {
      value = this.#map(target as YAMLMap, pointer, depth);
    } else {
      value = this.#unusable(place);
    }
    this.#open.delete(target);
    return value;
  }

  #map(map: YAMLMap, pointer: string, depth: number): JsonValue {
    const entries: [string, JsonValue][] = [];
    const seen = new Map<string, Place | undefined>();
    for (const pair of map.items) {
      const keyNode = isAlias(pair.key) ? this.#resolve(pair.key) : pair.key;
      const place = this.#place((pair.key as ParsedNode | null)?.range?.[0]);
      const key = isScalar(keyNode) ? keyNode.value : undefined;
      if (key === undefined || (typeof key === 'object' && key !== null)) {
        this.#issues.push(issue('workflow/syntax', 'a key must be text', place ?? START, 'write a plain key'));
        continue;
      }
      const name = String(key);
      if (seen.has(name)) {
        const first = seen.get(name)?.line;
        const where = first === undefined ? '' : ` (first on line ${first})`;
        const message = `the key ${JSON.stringify(name)} stands twice in one mapping${where}`;
        this.#issues.push(issue('workflow/duplicate-key', message, place ?? START, 'keep one of the two'));
        continue;
      }
      seen.set(name, place);
      entries.push([name, this.#value(pair.value, pointerTo(pointer, name), place, depth + 1)]);
    }
    return Object.fromEntries(entries);
  }

  #scalar(value: unknown, place: Place | undefined): JsonValue {
    if (typeof value === 'bigint') return Number(value);
    if (typeof value === 'number' && !Number.isFinite(value)) {
      const message = `${String(value)} is no number of JSON`;
      this.#issues.push(issue('workflow/syntax', message, place ?? START, 'write a finite number, or text in quotes'));
      return 0;
    }
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
    return value === null || value === undefined ? null : this.#unusable(place);
  }

  #unusable(place: Place | undefined): null {
    const message = 'the tag makes a value that JSON cannot say';
    this.#issues.push(issue('workflow/syntax', message, place ?? START, 'write the value without a tag'));
    return null;
  }

  #resolve(alias: Alias): Node {
    const place = this.#place((alias as { range?: readonly number[] | null }).range?.[0]) ?? START;
    this.#aliases += 1;
    if (this.#aliases > this.#limits.maxAliases) {
      this.#stop(place, `more than ${this.#limits.maxAliases} uses of anchors`, 'workflow/alias');
    }
    const target = alias.resolve(this.#document);
    if (target === undefined) this.#stop(place, `the alias *${alias.source} has no anchor before it`, 'workflow/alias');
    if (this.#open.has(target)) this.#stop(place, `the alias *${alias.source} contains itself`, 'workflow/alias');
    return target;
  }

  #stop(place: Place | undefined, message: string, code: RuleId = 'workflow/syntax'): never {
    this.#issues.push(issue(code, message, place ?? START, 'write the values out, or fewer of them'));
    throw new Stop();
  }

  #place(offset: number | undefined): Place | undefined {
    if (offset === undefined) return undefined;
    const { line, col } = this.#counter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }
}
