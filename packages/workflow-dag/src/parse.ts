import type { WorkflowDefinition } from './definition.js';
import { WorkflowError } from './errors.js';
import type { Issue } from './issue.js';
import { isObject } from './json.js';
import { Cursor, inDocumentOrder, type RankedIssue } from './parse/cursor.js';
import { DEFINITION_KIND, readApiVersion, readKubernetesWorkflow, SERVER_KIND } from './parse/kubernetes.js';
import { nearest } from './parse/nearest.js';
import { originOf, rememberOrigin } from './parse/origin.js';
import { readKubernetesServer, readPlainServer, type WorkflowServer } from './parse/server.js';
import { NotJsonError, treeOf, type Tree } from './parse/tree.js';
import { readWorkflow } from './parse/workflow.js';
import { readDocuments, TEXT_LIMITS, type TextLimits } from './parse/yaml.js';

/** How a definition is read. */
export interface ParseOptions {
  /**
   * Which form to read; `auto` looks at the keys. Documents of the other form are left out.
   *
   * @defaultValue 'auto'
   */
  readonly format?: 'auto' | 'crd' | 'config';
  /** Name of the workflow, or of its Kubernetes object, where there are several. */
  readonly name?: string;
  /** Bounds of the text. */
  readonly limits?: Partial<TextLimits>;
}

/** What a file contains. */
export interface WorkflowFile {
  /** In the order of the file; those with problems included. */
  readonly definitions: readonly WorkflowDefinition[];
  /** Servers that offer workflows. */
  readonly servers: readonly WorkflowServer[];
  /** Problems of the file that belong to no definition. */
  readonly issues: readonly Issue[];
}

/**
 * Reads every workflow of a text (YAML with any number of documents, or JSON) or of an object made in code: Kubernetes
 * objects, a workflow by itself, or the list `compositeTools` of a server's configuration. Never throws for what the
 * input says: problems of a definition stay with it until {@link validateDefinition}, the others are in `issues`.
 */
export function parseFile(input: unknown, { format = 'auto', limits = {} }: ParseOptions = {}): WorkflowFile {
  const { trees, issues } = readInput(input, { ...TEXT_LIMITS, ...limits });
  const definitions: WorkflowDefinition[] = [];
  const servers: WorkflowServer[] = [];
  const found: RankedIssue[] = issues.map((issue, order) => ({ order: order - issues.length, issue }));
  for (const tree of trees) readTree(tree, format, { definitions, servers, issues: found });
  refuseDuplicates(definitions, found);
  return { definitions, servers, issues: inDocumentOrder(found) };
}

/**
 * Reads one workflow. Its problems stay with it: pass it to {@link validateDefinition}, which lists them all.
 *
 * @param input - YAML or JSON text, or an object made in code.
 * @throws WorkflowError `ERR_WORKFLOW_DAG_SYNTAX` where the text is not YAML, `ERR_WORKFLOW_DAG_NOT_FOUND` where it has no
 * such workflow, `ERR_WORKFLOW_DAG_AMBIGUOUS` where it has several and no name is given.
 */
export function parseDefinition(input: unknown, options: ParseOptions = {}): WorkflowDefinition {
  const file = parseFile(input, options);
  return selectDefinition(file, options.name);
}

/**
 * Picks one workflow of a file, by its name or by that of its Kubernetes object.
 *
 * @throws WorkflowError as {@link parseDefinition} does.
 */
export function selectDefinition(file: WorkflowFile, name?: string): WorkflowDefinition {
  const { definitions, issues } = file;
  const names = definitions.map((definition) => definition.name);
  const broken = issues.find(({ code, severity }) => severity === 'error' && code !== 'workflow/duplicate-name');
  const named = name === undefined ? definitions : definitions.filter((definition) => isNamed(definition, name));
  const [first] = named;
  if (broken !== undefined && (first === undefined || definitions.length < 2)) throw syntaxError(broken, issues);
  if (first === undefined) {
    const near = name === undefined ? undefined : nearest(name, names);
    const remedy =
      near !== undefined
        ? `did you mean "${near}"?`
        : names.length > 0
          ? `it has: ${names.join(', ')}`
          : `add an object of kind ${DEFINITION_KIND}, a workflow with name and steps, or a list compositeTools`;
    const what = name === undefined ? 'the input has no workflow' : `the input has no workflow ${JSON.stringify(name)}`;
    throw new WorkflowError('ERR_WORKFLOW_DAG_NOT_FOUND', `${what}; ${remedy}`, { details: { names } });
  }
  if (named.length > 1) {
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_AMBIGUOUS',
      `the input has ${named.length} workflows; name one of: ${names.join(', ')}`,
      { details: { names } },
    );
  }
  return first;
}

function isNamed({ name, metadata }: WorkflowDefinition, wanted: string): boolean {
  return name === wanted || metadata?.name === wanted;
}

function syntaxError(issue: Issue, issues: readonly Issue[]): WorkflowError {
  const where = issue.line === undefined ? '' : `line ${issue.line}, column ${issue.column ?? 1}: `;
  const hint = issue.hint === undefined ? '' : `; ${issue.hint}`;
  return new WorkflowError('ERR_WORKFLOW_DAG_SYNTAX', `${where}${issue.message}${hint}`, { details: { issues } });
}

function readInput(input: unknown, limits: TextLimits): { trees: readonly Tree[]; issues: readonly Issue[] } {
  if (typeof input === 'string') return readDocuments(input, limits);
  if (typeof input !== 'object' || input === null) {
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_ARGUMENT',
      `Expected \`input\` to be YAML text or an object, got \`${String(input)}\` (${typeof input})`,
    );
  }
  try {
    return { trees: [treeOf(input)], issues: [] };
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    const message = `${error.pointer === '' ? 'the definition' : error.pointer} ${error.message}`;
    return { trees: [], issues: [{ severity: 'error', code: 'workflow/syntax', path: error.pointer, message }] };
  }
}

interface Found {
  readonly definitions: WorkflowDefinition[];
  readonly servers: WorkflowServer[];
  readonly issues: RankedIssue[];
}

function readTree(tree: Tree, format: NonNullable<ParseOptions['format']>, found: Found): void {
  const root = Cursor.at(tree, found.issues);
  const { object } = root;
  if (!isObject(tree.value)) {
    root.report('workflow/type', 'a document must be a mapping', { hint: 'write name: and steps: at the top' });
  } else if (Object.hasOwn(object, 'kind') || (Object.hasOwn(object, 'apiVersion') && Object.hasOwn(object, 'spec'))) {
    if (format !== 'config') readObject(tree, root, found);
  } else if (format === 'crd') {
    return;
  } else if (Object.hasOwn(object, 'compositeTools') || Object.hasOwn(object, 'compositeToolRefs')) {
    found.servers.push(readPlainServer(root));
    readList(tree, root.get('compositeTools'), found);
  } else if (['steps', 'description', 'parameters', 'failureMode'].some((key) => Object.hasOwn(object, key))) {
    addDefinition(tree, found, (cursor) => [cursor, readWorkflow(cursor, { form: 'plain' })]);
  } else {
    reportForeign(root);
  }
}

/** Kubernetes objects of other kinds may stand in the same file. */
function readObject(tree: Tree, root: Cursor, found: Found): void {
  const kind = root.get('kind');
  if (kind.value === DEFINITION_KIND) {
    addDefinition(tree, found, (cursor) => [cursor.get('spec'), readKubernetesWorkflow(cursor)]);
  } else if (kind.value === SERVER_KIND) {
    readApiVersion(root.get('apiVersion'));
    found.servers.push(readKubernetesServer(root));
    readList(tree, root.get('spec').get('config').get('compositeTools'), found);
  } else if (typeof kind.value !== 'string') {
    kind.report('workflow/required', 'kind must be text', { hint: `write kind: ${DEFINITION_KIND}` });
  } else {
    const near = nearest(kind.value, [DEFINITION_KIND, SERVER_KIND]);
    if (near !== undefined) {
      const message = `unknown kind ${JSON.stringify(kind.value)}`;
      kind.report('workflow/value', message, { hint: `did you mean "${near}"?` });
    }
  }
}

function readList(tree: Tree, list: Cursor, found: Found): void {
  if (list.present && !Array.isArray(list.value)) {
    list.report('workflow/type', `${list.path} must be a list`, { hint: 'write each workflow as an item: - name: …' });
  }
  for (const item of list.items()) {
    addDefinition(tree, found, (_, issues) => {
      const cursor = item.reopen(issues);
      return [cursor, readWorkflow(cursor, { form: 'plain' })];
    });
  }
}

function addDefinition(
  tree: Tree,
  found: Found,
  read: (root: Cursor, issues: RankedIssue[]) => readonly [Cursor, WorkflowDefinition],
): void {
  const issues: RankedIssue[] = [];
  const [root, definition] = read(Cursor.at(tree, issues), issues);
  rememberOrigin(definition, { root, issues });
  found.definitions.push(definition);
}

function reportForeign(root: Cursor): void {
  const keys = ['compositeTools', 'compositeToolRefs', 'steps', 'kind'];
  for (const key of Object.keys(root.object)) {
    const near = nearest(key, keys);
    if (near === undefined) continue;
    const message = `unknown key ${JSON.stringify(key)}`;
    root.get(key).report('workflow/unknown-key', message, { hint: `did you mean "${near}"?`, atKey: true });
  }
}

function refuseDuplicates(definitions: readonly WorkflowDefinition[], issues: RankedIssue[]): void {
  const seen = new Set<string>();
  for (const definition of definitions) {
    const { name, form, metadata } = definition;
    const namespace = form === 'kubernetes' ? (metadata?.namespace ?? 'default') : '';
    const key = `${namespace}/${name}`;
    if (name !== '' && seen.has(key)) {
      const field = originOf(definition)?.root.reopen(issues).get('name');
      field?.report('workflow/duplicate-name', `duplicate composite tool name: ${name}`, {
        hint: 'rename one of the two',
      });
    }
    seen.add(key);
  }
}
