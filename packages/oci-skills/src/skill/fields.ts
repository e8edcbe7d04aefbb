import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type { Node, Pair, YAMLMap } from 'yaml';
import { printable } from '../text.js';
import type { Place } from './front-matter.js';

/** Takes a finding of the front matter. */
export type Report = (rule: string, message: string, place: Place) => void;

/** A field of the front matter: its value node and its place. */
export interface Field {
  readonly key: string;
  readonly value: Node | null;
  /** Where the value starts, or the key where there is none. */
  readonly place: Place;
  readonly keyPlace: Place;
  /** Where something inside the value starts. */
  readonly placeOf: (node: unknown) => Place;
}

/** The fields of the front matter by key. */
export type Fields = ReadonlyMap<string, Field>;

const nullTexts: ReadonlySet<string> = new Set(['', '~', 'null', 'Null', 'NULL']);

/** The text of a scalar as written, `''` for a null, undefined for anything that is no scalar. */
export function scalarText(node: unknown): string | undefined {
  if (node === null || node === undefined) return '';
  if (!isScalar(node)) return undefined;
  const text = String(node.value ?? '');
  return node.type === 'PLAIN' && nullTexts.has(text) ? '' : text;
}

// One slip in YAML often brings errors on every line after it.
const MOST_ERRORS = 3;

class FieldReader {
  readonly #lines = new LineCounter();
  readonly #linesBefore: number;
  readonly #report: Report;

  constructor(linesBefore: number, report: Report) {
    this.#linesBefore = linesBefore;
    this.#report = report;
  }

  read(yaml: string): Fields | undefined {
    const document = parseDocument(yaml, {
      schema: 'failsafe',
      uniqueKeys: true,
      merge: false,
      stringKeys: false,
      lineCounter: this.#lines,
      prettyErrors: false,
    });
    for (const { code, message, pos } of document.errors.slice(0, MOST_ERRORS)) {
      const text = code === 'DUPLICATE_KEY' ? this.#duplicate(yaml, pos[0]) : advise(code, message, yaml.slice(pos[0]));
      this.#report('skill/yaml', text, this.#at(pos[0]));
    }
    if (document.errors.length > 0) return undefined;
    const root = document.contents;
    if (!isMap(root)) {
      const rule = 'skill/front-matter-mapping';
      this.#report(rule, 'the front matter is no mapping; write lines of the form `name: value`', this.#at(0));
      return undefined;
    }
    return this.#forbidden(root) ? undefined : this.#fields(root);
  }

  #duplicate(yaml: string, offset: number): string {
    const key = /^[^:\n]*/.exec(yaml.slice(offset))?.[0].trim() ?? '';
    const first = yaml.split('\n').findIndex((line) => line.startsWith(`${key}:`));
    const where = first < 0 ? '' : `, first in line ${first + 1 + this.#linesBefore}`;
    return `the field \`${printable(key, 60)}\` stands here again${where}; keep one of them`;
  }

  #at(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return { line: line + this.#linesBefore, column: Math.max(1, col) };
  }

  #forbidden(root: YAMLMap): boolean {
    let found = false;
    const refuse = (what: string, node: Node): void => {
      found = true;
      this.#report(
        'skill/yaml-feature',
        `${what} not supported in front matter; write the value out`,
        this.#at(node.range?.[0] ?? 0),
      );
    };
    visit(root, {
      Alias: (_, node) => refuse('aliases are', node),
      Node: (_, node) => {
        if (isAlias(node)) return;
        if (node.anchor !== undefined) refuse('anchors are', node);
        if (node.tag !== undefined) refuse('tags are', node);
      },
      Pair: (_, pair) => {
        if (isScalar(pair.key) && pair.key.type === 'PLAIN' && pair.key.value === '<<')
          refuse('merge keys are', pair.key);
      },
    });
    return found;
  }

  #fields(root: YAMLMap): Fields {
    const fields = new Map<string, Field>();
    for (const pair of root.items as Pair<Node, Node | null>[]) {
      const key = scalarText(pair.key);
      const place = this.#at(pair.key?.range?.[0] ?? 0);
      if (key === undefined) {
        this.#report('skill/yaml', 'a field name must be plain text', place);
        continue;
      }
      const placeOf = (node: unknown): Place => (isNode(node) && node.range ? this.#at(node.range[0]) : place);
      fields.set(key, { key, value: pair.value, place: placeOf(pair.value), keyPlace: place, placeOf });
    }
    return fields;
  }
}

function advise(code: string, message: string, rest: string): string {
  const text = printable(message.split('\n')[0] ?? message, 200);
  const isColon = code === 'BLOCK_AS_IMPLICIT_KEY' || /compact mappings|implicit keys/i.test(message);
  if (/call stack/i.test(message)) return 'the front matter is nested too deeply; write plain fields';
  if (isColon) return `${text}; a value that contains \`: \` must stand in quotes, or below \`>-\``;
  if (/^[@`%]/.test(rest)) return `${text}; put the value in quotes`;
  return `${text}; correct the YAML, or put the value in quotes`;
}

/** Parse front matter with every scalar kept as written; faults go to `report`, and undefined comes back. */
export function readFields(yaml: string, linesBefore: number, report: Report): Fields | undefined {
  try {
    return new FieldReader(linesBefore, report).read(yaml);
  } catch (error) {
    // The YAML composer recurses: nesting as deep as 64 KiB allows exhausts the stack.
    const reason = error instanceof RangeError ? 'it is nested too deeply' : String((error as Error).message);
    report('skill/yaml', `the front matter cannot be read: ${printable(reason)}`, { line: linesBefore + 1, column: 1 });
    return undefined;
  }
}

/** The entries of a mapping as texts; reports what is no text. */
export function readTextMap(field: Field, report: Report): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  if (scalarText(field.value) === '') return entries;
  if (!isMap(field.value)) {
    report(
      'skill/metadata',
      '`metadata` must be a mapping of texts, such as `metadata:` and below it `  author: name`',
      field.place,
    );
    return entries;
  }
  for (const pair of field.value.items) {
    const key = scalarText(pair.key);
    const value = scalarText(pair.value);
    if (key === undefined || value === undefined) {
      report(
        'skill/metadata',
        `\`metadata.${printable(key ?? '?')}\` must be a text; lists and mappings are not allowed below \`metadata\``,
        field.placeOf(pair.key),
      );
      continue;
    }
    entries.set(key, value);
  }
  return entries;
}

/** The items of a sequence as texts, or undefined when `field` holds no sequence of texts. */
export function readTexts(field: Field): readonly string[] | undefined {
  if (!isSeq(field.value)) return undefined;
  const texts = field.value.items.map(scalarText);
  return texts.every((text) => text !== undefined) ? texts : undefined;
}
