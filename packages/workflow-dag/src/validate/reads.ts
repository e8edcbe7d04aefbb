import {
  templateTrees,
  type CommandNode,
  type Expression,
  type PipeNode,
  type Statement,
  type Template,
} from '@thv/go-template';

/** A path from the root that a template reads. */
export interface Read {
  /** Such as `['steps', 'a', 'output', 'text']`. */
  readonly path: readonly string[];
  /** It stands there as one chain of fields; otherwise it was put together from variables, parentheses, `index` or `with`. */
  readonly plain: boolean;
}

/** A comparison of a number of the data with an integer, which Go refuses. */
export interface IntegerComparison {
  readonly path: readonly string[];
  readonly literal: string;
}

/** What can be known about a template without running it. */
export interface Analysis {
  readonly reads: readonly Read[];
  readonly comparisons: readonly IntegerComparison[];
  /** Text outside of all actions, piece by piece. */
  readonly texts: readonly string[];
  /** There is no action at all. */
  readonly constant: boolean;
}

type Path = readonly string[];

/** What a block knows: where its dot and its variables lead; `undefined` is anywhere. */
interface Scope {
  readonly dot: Path | undefined;
  readonly variables: ReadonlyMap<string, Path | undefined>;
}

const COMPARISONS = new Set(['eq', 'ne', 'lt', 'le', 'gt', 'ge']);

/** Looks for what a template reads. */
export function analyse(template: Template): Analysis {
  const trees = templateTrees(template);
  const walker = new Walker();
  for (const [name, statements] of trees) {
    // A named template gets its dot from whoever calls it.
    const dot = name === template.name ? [] : undefined;
    walker.list(statements, { dot, variables: new Map([['$', dot]]) });
  }
  const main = trees.get(template.name) ?? [];
  return {
    reads: walker.reads,
    comparisons: walker.comparisons,
    texts: main.flatMap((node) => (node.kind === 'text' ? [node.text] : [])),
    constant: main.every(({ kind }) => kind === 'text'),
  };
}

class Walker {
  readonly reads: Read[] = [];
  readonly comparisons: IntegerComparison[] = [];

  list(statements: readonly Statement[], outer: Scope): void {
    let scope = outer;
    for (const node of statements) {
      if (node.kind === 'action') scope = this.#declare(node.pipe, scope, this.#pipe(node.pipe, scope));
      else if (node.kind === 'template') {
        if (node.pipe !== undefined) this.#pipe(node.pipe, scope);
      } else if (node.kind === 'if' || node.kind === 'with' || node.kind === 'range') {
        const path = this.#pipe(node.pipe, scope);
        // The items of a list are somewhere below it; their paths are of no use here.
        const inner = this.#declare(node.pipe, scope, node.kind === 'range' ? undefined : path);
        const dot = node.kind === 'if' ? scope.dot : node.kind === 'with' ? path : undefined;
        this.list(node.list, { ...inner, dot });
        this.list(node.otherwise ?? [], inner);
      }
    }
  }

  #declare(pipe: PipeNode, scope: Scope, path: Path | undefined): Scope {
    if (pipe.declarations.length === 0) return scope;
    const variables = new Map(scope.variables);
    // A variable that is set again inside a block may hold either value afterwards: nothing is known of it.
    for (const { name } of pipe.declarations) variables.set(name, pipe.isAssign ? undefined : path);
    return { ...scope, variables };
  }

  /** Notes what a pipe reads; answers where its value is, if it is a place at all. */
  #pipe(pipe: PipeNode, scope: Scope): Path | undefined {
    let value: Path | undefined;
    for (const [index, command] of pipe.commands.entries()) {
      value = this.#command(command, scope, index > 0, value);
    }
    return value;
  }

  #command({ args }: CommandNode, scope: Scope, piped: boolean, input: Path | undefined): Path | undefined {
    const [first, ...rest] = args;
    if (first === undefined) return undefined;
    if (first.kind !== 'identifier') return this.#expression(first, scope);
    const paths = rest.map((node) =>
      first.name === 'index' ? this.#place(node, scope) : this.#expression(node, scope),
    );
    if (COMPARISONS.has(first.name)) this.#compare(rest, piped ? [...paths, input] : paths);
    if (first.name !== 'index' || piped) {
      if (first.name === 'index') for (const path of paths) this.#note(path, false);
      return undefined;
    }
    return this.#index(rest, paths);
  }

  /** `index .steps.a.output "text"` reads `.steps.a.output.text`. */
  #index(args: readonly Expression[], paths: readonly (Path | undefined)[]): Path | undefined {
    const [root] = paths;
    const keys: string[] = [];
    for (const node of args.slice(1)) {
      if (node.kind !== 'string') break;
      keys.push(node.value);
    }
    for (const path of paths.slice(1)) this.#note(path, false);
    if (root === undefined) return undefined;
    const path = [...root, ...keys];
    this.#note(path, false);
    if (args[0]?.kind === 'field') this.#note(root, true);
    return keys.length === args.length - 1 ? path : undefined;
  }

  #compare(args: readonly Expression[], paths: readonly (Path | undefined)[]): void {
    const literal = args.find(
      (node) => node.kind === 'number' && /^[+-]?(?:[0-9_]+|0[xob][0-9a-f_]+)$/i.test(node.text),
    );
    if (literal?.kind !== 'number') return;
    for (const path of paths) if (path !== undefined) this.comparisons.push({ path, literal: literal.text });
  }

  /** Notes what an expression reads. */
  #expression(node: Expression, scope: Scope): Path | undefined {
    const path = this.#place(node, scope);
    if (node.kind === 'field') this.#noteField(node.path, path);
    else if (node.kind !== 'pipe') this.#note(path, false);
    return path;
  }

  #noteField(written: Path, path: Path | undefined): void {
    // Even where dot is something else, a chain that starts with steps means the root to its author.
    const plain = path === undefined || same(written, path);
    if (plain && (path !== undefined || written[0] === 'steps')) this.#note(written, true);
    else this.#note(path, false);
  }

  /** Where the value of an expression is. Pipes note what they read on the way. */
  #place(node: Expression, scope: Scope): Path | undefined {
    switch (node.kind) {
      case 'dot':
        return scope.dot;
      case 'field':
        return scope.dot === undefined ? undefined : [...scope.dot, ...node.path];
      case 'variable': {
        const root = scope.variables.get(node.name);
        return root === undefined ? undefined : [...root, ...node.path];
      }
      case 'chain': {
        const root = this.#place(node.node, scope);
        return root === undefined ? undefined : [...root, ...node.path];
      }
      case 'pipe':
        return this.#pipe(node, scope);
      default:
        return undefined;
    }
  }

  #note(path: Path | undefined, plain: boolean): void {
    if (path === undefined || path.length === 0) return;
    if (this.reads.some((read) => read.plain === plain && same(read.path, path))) return;
    this.reads.push({ path, plain });
  }
}

function same(left: Path, right: Path): boolean {
  return left.length === right.length && left.every((part, index) => part === right[index]);
}
