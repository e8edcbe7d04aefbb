import type { Provenance } from '@thv/oci-skills';
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Node, Pair, YAMLMap } from 'yaml';
import { SkillsLockError } from '../errors.js';
import { findCycle } from './graph.js';
import { checkEntry } from './rules.js';
import type { Problem, ReferenceRules } from './rules.js';
import { compareBytes } from './text.js';
import type { LockEntry, LockFile, LockKey } from './types.js';

/** A lock file of more bytes than this is refused unread. */
export const MAX_LOCK_BYTES = 4 * 1024 * 1024;

const ENTRY_TEXTS = ['name', 'version', 'source', 'resolvedReference', 'digest', 'contentDigest'] as const;
const PROVENANCE_TEXTS = [
  'signerIdentity',
  'certIssuer',
  'repositoryUri',
  'repositoryRef',
  'runnerEnvironment',
  'sigstoreUrl',
  'publicKey',
] as const;

/** A lock file without entries. */
export const emptyLock = (): LockFile => ({
  version: 1,
  skills: [],
  plugins: [],
  extras: new Map(),
  entryExtras: new Map(),
});

/**
 * Reads the text of a lock file. Any broken rule refuses the whole file, and the error lists all of them with
 * line and column.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_FILE`, or `ERR_SKILLS_LOCK_VERSION` for a later version of the format.
 */
export function parseLock(
  text: string,
  options: { readonly path: string; readonly references: ReferenceRules },
): LockFile {
  if (Buffer.byteLength(text) > MAX_LOCK_BYTES) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_FILE',
      `${options.path} is larger than ${MAX_LOCK_BYTES} bytes; restore it from version control`,
    );
  }
  return new Reader(text, options.path, options.references).read();
}

/** Walks the syntax tree, so that every complaint has a line and a column. */
class Reader {
  private readonly lines = new LineCounter();
  private readonly problems: string[] = [];
  private readonly entryExtras = new Map<LockEntry, ReadonlyMap<string, unknown>>();
  private readonly text: string;
  private readonly path: string;
  private readonly references: ReferenceRules;

  constructor(text: string, path: string, references: ReferenceRules) {
    this.text = text;
    this.path = path;
    this.references = references;
  }

  read(): LockFile {
    const document = parseDocument(this.text, {
      schema: 'failsafe',
      uniqueKeys: true,
      lineCounter: this.lines,
      merge: false,
    });
    const [syntax] = document.errors;
    if (syntax) this.report(syntax.pos[0], syntax.message.split('\n')[0] ?? syntax.code);
    this.finish();
    const root = document.contents;
    if (root === null || (isScalar(root) && root.value === '')) return emptyLock();
    if (!isMap(root)) this.report(root.range?.[0], 'the file must be a mapping with "version" and "skills"');
    this.refuseAliases(this.text);
    this.finish();
    return this.readRoot(root as YAMLMap);
  }

  private readRoot(root: YAMLMap): LockFile {
    this.checkVersion(root);
    const extras = new Map<string, unknown>();
    const lists: Record<LockKey, readonly LockEntry[]> = { skills: [], plugins: [] };
    for (const pair of root.items as Pair<Node, Node | null>[]) {
      const key = keyOf(pair);
      if (key === 'skills' || key === 'plugins') lists[key] = this.readList(key, pair.value);
      else if (key !== 'version') extras.set(key, pair.value?.toJSON() ?? null);
    }
    this.finish();
    return { version: 1, ...lists, extras, entryExtras: this.entryExtras };
  }

  private checkVersion(root: YAMLMap): void {
    const version = root.get('version');
    if (version === undefined || version === '' || version === '0' || version === '1') return;
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_VERSION',
      `${this.path} has version ${JSON.stringify(version)}, this program reads version 1; use a newer program`,
      { details: { path: this.path, version } },
    );
  }

  private readList(key: LockKey, node: Node | null): readonly LockEntry[] {
    if (node === null || (isScalar(node) && node.value === '')) return [];
    if (!isSeq(node)) {
      this.report(node.range?.[0], `"${key}" must be a list`);
      return [];
    }
    const entries = (node.items as Node[]).flatMap((item) => this.readEntry(key, item));
    this.checkTogether(key, entries);
    return entries.map(({ entry }) => entry).toSorted((a, b) => compareBytes(a.name, b.name));
  }

  private readEntry(key: LockKey, node: Node): { readonly entry: LockEntry; readonly node: YAMLMap }[] {
    if (!isMap(node)) {
      this.report(node.range?.[0], `each item of "${key}" must be a mapping`);
      return [];
    }
    const extras = new Map<string, unknown>();
    const found: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const pair of node.items as Pair<Node, Node | null>[]) {
      const name = keyOf(pair);
      const value = pair.value;
      if ((ENTRY_TEXTS as readonly string[]).includes(name)) found[name] = this.textOf(value, name);
      else if (name === 'unsigned' || name === 'explicit') found[name] = this.booleanOf(value, name);
      else if (name === 'requiredBy') found[name] = this.textsOf(value, name);
      else if (name === 'provenance') found[name] = this.provenanceOf(value);
      else extras.set(name, value?.toJSON() ?? null);
    }
    const entry = compact({ name: '', source: '', digest: '', ...found }) as unknown as LockEntry;
    for (const problem of checkEntry(entry, this.references)) this.reportIn(node, entry.name, problem);
    if (extras.size > 0) this.entryExtras.set(entry, extras);
    return [{ entry, node }];
  }

  private checkTogether(key: LockKey, items: readonly { readonly entry: LockEntry; readonly node: YAMLMap }[]): void {
    const names = new Map<string, YAMLMap>();
    for (const { entry, node } of items) {
      if (names.has(entry.name))
        this.reportIn(node, entry.name, { path: ['name'], message: `is listed twice in "${key}"` });
      names.set(entry.name, node);
    }
    for (const { entry, node } of items) {
      entry.requiredBy?.forEach((parent, index) => {
        if (!names.has(parent)) {
          this.reportIn(node, entry.name, {
            path: ['requiredBy', index],
            message: `${JSON.stringify(parent)} is not in "${key}"`,
          });
        }
      });
    }
    const cycle = findCycle(items.map(({ entry }) => entry));
    const first = cycle === undefined ? undefined : names.get(cycle[0] ?? '');
    if (cycle && first)
      this.reportIn(first, cycle[0] ?? '', {
        path: ['requiredBy'],
        message: `runs in a circle: ${cycle.join(' -> ')}`,
      });
  }

  private provenanceOf(node: Node | null): Provenance | undefined {
    if (node === null || (isScalar(node) && node.value === '')) return undefined;
    if (!isMap(node)) {
      this.report(node.range?.[0], '"provenance" must be a mapping');
      return undefined;
    }
    const found: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const pair of node.items as Pair<Node, Node | null>[]) {
      const name = keyOf(pair);
      if (name === 'provisional') found[name] = this.booleanOf(pair.value, name);
      else if ((PROVENANCE_TEXTS as readonly string[]).includes(name)) found[name] = this.textOf(pair.value, name);
      else
        this.report(
          pair.key.range?.[0],
          `"provenance" has no member ${JSON.stringify(name)}: remove it, or use a newer program`,
        );
    }
    return compact(found) as Provenance;
  }

  private textOf(node: Node | null, name: string): string | undefined {
    if (node === null) return undefined;
    if (isScalar(node)) return String(node.value);
    this.report(node.range?.[0], `"${name}" must be text`);
    return undefined;
  }

  private textsOf(node: Node | null, name: string): readonly string[] | undefined {
    if (node === null || (isScalar(node) && node.value === '')) return undefined;
    if (isSeq(node)) return (node.items as Node[]).map((item) => this.textOf(item, name) ?? '');
    this.report(node.range?.[0], `"${name}" must be a list of names`);
    return undefined;
  }

  private booleanOf(node: Node | null, name: string): boolean | undefined {
    const text = this.textOf(node, name);
    if (text === undefined || text === '' || text === 'false') return undefined;
    if (text === 'true') return true;
    this.report(node?.range?.[0], `"${name}" must be true or false, got ${JSON.stringify(text)}`);
    return undefined;
  }

  /** An alias would let one edit change several entries at once, unseen in a review. */
  private refuseAliases(text: string): void {
    const anchor = /(?:^|[\s[{,:-])[&*][A-Za-z0-9_-]+(?=\s|$)/m.exec(text);
    if (anchor) this.report(anchor.index, 'anchors and aliases are not allowed in a lock file');
  }

  private reportIn(node: YAMLMap, name: string, problem: Problem): void {
    const target = node.getIn([...problem.path], true) as Node | undefined;
    const at = target?.range?.[0] ?? node.range?.[0];
    this.report(at, `${name === '' ? 'entry' : JSON.stringify(name)}: ${problem.path.join('.')} ${problem.message}`);
  }

  private report(offset: number | undefined, message: string): void {
    const { line, col } = this.lines.linePos(offset ?? 0);
    this.problems.push(`${this.path}:${Math.max(line, 1)}:${Math.max(col, 1)}: ${message}`);
  }

  private finish(): void {
    if (this.problems.length === 0) return;
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_FILE',
      `The lock file is not valid; correct it or restore it from version control.\n${this.problems.join('\n')}`,
      { details: { path: this.path, problems: this.problems } },
    );
  }
}

const keyOf = (pair: Pair<Node, Node | null>): string => (isScalar(pair.key) ? String(pair.key.value) : '');

function compact(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
