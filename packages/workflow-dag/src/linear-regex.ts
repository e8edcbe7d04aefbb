/*
 * Regular expressions in time linear in the text: a Thompson machine that follows all ways at once, so that no pattern and
 * no text make it try again. The grammar is that part of RE2's which reads the same everywhere.
 */

type Test = (code: number) => boolean;

type Node =
  | { readonly kind: 'char'; readonly test: Test }
  | { readonly kind: 'assert'; readonly what: '^' | '$' | 'b' | 'B' }
  | { readonly kind: 'concat'; readonly items: readonly Node[] }
  | { readonly kind: 'choice'; readonly items: readonly Node[] }
  | { readonly kind: 'repeat'; readonly item: Node; readonly min: number; readonly max: number };

type Instruction =
  | { readonly op: 'char'; readonly test: Test }
  | { readonly op: 'assert'; readonly what: '^' | '$' | 'b' | 'B' }
  | { readonly op: 'split'; x: number; y: number }
  | { readonly op: 'jump'; x: number }
  | { readonly op: 'match' };

const MAX_INSTRUCTIONS = 10_000;
const MAX_REPEAT = 1000;
const MAX_DEPTH = 200;

const isDigit: Test = (code) => code >= 48 && code <= 57;
const isWord: Test = (code) =>
  isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;
const isSpace: Test = (code) => code === 32 || (code >= 9 && code <= 13 && code !== 11);
const not =
  (test: Test): Test =>
  (code) =>
    !test(code);
const CLASSES = new Map<string, Test>([
  ['d', isDigit],
  ['D', not(isDigit)],
  ['w', isWord],
  ['W', not(isWord)],
  ['s', isSpace],
  ['S', not(isSpace)],
]);
const ESCAPES = new Map([
  ['n', 10],
  ['r', 13],
  ['t', 9],
  ['f', 12],
  ['v', 11],
  ['a', 7],
]);

class PatternParser {
  readonly #pattern: readonly string[];
  readonly #source: string;
  #at = 0;
  #depth = 0;
  #ignoreCase = false;
  #dotAll = false;

  constructor(source: string) {
    this.#source = source;
    this.#pattern = Array.from(source);
  }

  parse(): Node {
    const flags = /^\(\?([is]+)\)/.exec(this.#source);
    if (flags !== null) {
      this.#ignoreCase = flags[1]?.includes('i') === true;
      this.#dotAll = flags[1]?.includes('s') === true;
      this.#at = flags[0].length;
    }
    const node = this.#choice();
    if (this.#at < this.#pattern.length) throw this.#fail(`unexpected ${this.#pattern[this.#at]}`);
    return node;
  }

  #fail(reason: string): Error {
    return new Error(`error parsing regexp: ${reason} in ${JSON.stringify(this.#source)} at ${this.#at}`);
  }

  #choice(): Node {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw this.#fail('nested too deeply');
    const items = [this.#concat()];
    while (this.#pattern[this.#at] === '|') {
      this.#at += 1;
      items.push(this.#concat());
    }
    this.#depth -= 1;
    return items.length === 1 && items[0] !== undefined ? items[0] : { kind: 'choice', items };
  }

  #concat(): Node {
    const items: Node[] = [];
    for (
      let next = this.#pattern[this.#at];
      next !== undefined && next !== '|' && next !== ')';
      next = this.#pattern[this.#at]
    ) {
      items.push(this.#repeated(this.#atom(next)));
    }
    return { kind: 'concat', items };
  }

  #repeated(item: Node): Node {
    let repeated = item;
    for (let count = 0; ; count += 1) {
      const bounds = this.#bounds();
      if (bounds === undefined) return repeated;
      if (count > 0) throw this.#fail('invalid nested repetition operator');
      // A lazy repetition matches where a greedy one does, and only that is asked.
      if (this.#pattern[this.#at] === '?') this.#at += 1;
      repeated = { kind: 'repeat', item: repeated, ...bounds };
    }
  }

  #bounds(): { readonly min: number; readonly max: number } | undefined {
    const next = this.#pattern[this.#at];
    if (next === '*' || next === '+' || next === '?') {
      this.#at += 1;
      return { min: next === '+' ? 1 : 0, max: next === '?' ? 1 : Number.POSITIVE_INFINITY };
    }
    if (next !== '{') return undefined;
    const match = /^\{(\d{1,5})(,(\d{0,5}))?\}/.exec(this.#pattern.slice(this.#at, this.#at + 14).join(''));
    if (match === null) return undefined;
    const [whole, least = '', comma, most] = match;
    const min = Number(least);
    const max = comma === undefined ? min : most === '' ? Number.POSITIVE_INFINITY : Number(most);
    if (min > MAX_REPEAT || (Number.isFinite(max) && max > MAX_REPEAT) || max < min)
      throw this.#fail(`invalid repeat count ${whole}`);
    this.#at += whole.length;
    return { min, max };
  }

  #atom(next: string): Node {
    this.#at += 1;
    switch (next) {
      case '(':
        return this.#group();
      case '[':
        return { kind: 'char', test: this.#set() };
      case '.':
        return { kind: 'char', test: this.#dotAll ? () => true : (code) => code !== 10 };
      case '^':
      case '$':
        return { kind: 'assert', what: next };
      case '*':
      case '+':
      case '?':
        this.#at -= 1;
        throw this.#fail(`missing argument to repetition operator: ${next}`);
      case '\\':
        return this.#escape();
      default:
        return { kind: 'char', test: this.#literal(next.codePointAt(0) ?? 0) };
    }
  }

  #group(): Node {
    if (this.#pattern[this.#at] === '?') {
      const named = /^\?(?:P?<[A-Za-z_]\w*>|:)/.exec(this.#pattern.slice(this.#at, this.#at + 100).join(''));
      if (named === null) throw this.#fail('invalid or unsupported Perl syntax: (?');
      this.#at += named[0].length;
    }
    const node = this.#choice();
    if (this.#pattern[this.#at] !== ')') throw this.#fail('missing closing )');
    this.#at += 1;
    return node;
  }

  #escape(): Node {
    const next = this.#pattern[this.#at];
    if (next === undefined) throw this.#fail('trailing backslash at end of expression');
    this.#at += 1;
    if (next === 'b' || next === 'B') return { kind: 'assert', what: next };
    if (next === 'A') return { kind: 'assert', what: '^' };
    if (next === 'z') return { kind: 'assert', what: '$' };
    return { kind: 'char', test: CLASSES.get(next) ?? this.#literal(this.#escaped(next)) };
  }

  #escaped(next: string): number {
    const known = ESCAPES.get(next);
    if (known !== undefined) return known;
    if (next === 'x') {
      const match = /^(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/.exec(
        this.#pattern.slice(this.#at, this.#at + 8).join(''),
      );
      if (match === null) throw this.#fail('invalid escape sequence: \\x');
      this.#at += match[0].length;
      return Number.parseInt(match[1] ?? match[2] ?? '0', 16);
    }
    if (/[A-Za-z0-9]/.test(next)) throw this.#fail(`invalid escape sequence: \\${next}`);
    return next.codePointAt(0) ?? 0;
  }

  #literal(code: number): Test {
    return this.#ignoreCase ? foldedRange(code, code) : (other) => other === code;
  }

  #set(): Test {
    const negated = this.#pattern[this.#at] === '^';
    if (negated) this.#at += 1;
    const tests: Test[] = [];
    for (let first = true; ; first = false) {
      const next = this.#pattern[this.#at];
      if (next === undefined) throw this.#fail('missing closing ]');
      if (next === ']' && !first) break;
      tests.push(this.#member());
    }
    this.#at += 1;
    const any: Test = (code) => tests.some((test) => test(code));
    return negated ? not(any) : any;
  }

  #member(): Test {
    const low = this.#setCharacter();
    if (typeof low === 'function') return low;
    const isRange = this.#pattern[this.#at] === '-' && this.#pattern[this.#at + 1] !== ']';
    if (!isRange) return this.#literal(low);
    this.#at += 1;
    const high = this.#setCharacter();
    if (typeof high === 'function' || high < low) throw this.#fail('invalid character class range');
    return this.#ignoreCase ? foldedRange(low, high) : (code) => code >= low && code <= high;
  }

  #setCharacter(): number | Test {
    const next = this.#pattern[this.#at] ?? '';
    this.#at += 1;
    if (next === '[' && this.#pattern[this.#at] === ':')
      throw this.#fail('invalid character class range: [: :] is not supported');
    if (next !== '\\') return next.codePointAt(0) ?? 0;
    const escaped = this.#pattern[this.#at];
    if (escaped === undefined) throw this.#fail('missing closing ]');
    this.#at += 1;
    return CLASSES.get(escaped) ?? this.#escaped(escaped);
  }
}

function foldedRange(low: number, high: number): Test {
  const inside: Test = (code) => code >= low && code <= high;
  return (code) => {
    if (inside(code)) return true;
    const text = String.fromCodePoint(code);
    return inside(text.toLowerCase().codePointAt(0) ?? 0) || inside(text.toUpperCase().codePointAt(0) ?? 0);
  };
}

function compile(root: Node): readonly Instruction[] {
  const program: Instruction[] = [];
  const emit = (instruction: Instruction): number => {
    if (program.length >= MAX_INSTRUCTIONS) throw new Error('error parsing regexp: expression too large');
    return program.push(instruction) - 1;
  };
  const add = (node: Node): void => {
    if (node.kind === 'char') emit({ op: 'char', test: node.test });
    else if (node.kind === 'assert') emit({ op: 'assert', what: node.what });
    else if (node.kind === 'concat') node.items.forEach(add);
    else if (node.kind === 'choice') addChoice(node.items);
    else addRepeat(node.item, node.min, node.max);
  };
  const addChoice = (items: readonly Node[]): void => {
    const ends: { x: number }[] = [];
    items.forEach((item, index) => {
      if (index === items.length - 1) return add(item);
      const split = { op: 'split', x: 0, y: 0 } as const satisfies Instruction as { op: 'split'; x: number; y: number };
      split.x = emit(split) + 1;
      add(item);
      const jump: { op: 'jump'; x: number } = { op: 'jump', x: 0 };
      split.y = emit(jump) + 1;
      ends.push(jump);
    });
    for (const jump of ends) jump.x = program.length;
  };
  const addRepeat = (item: Node, min: number, max: number): void => {
    for (let count = 0; count < min; count += 1) add(item);
    const splits: { op: 'split'; x: number; y: number }[] = [];
    const optional = Number.isFinite(max) ? max - min : 1;
    for (let count = 0; count < optional; count += 1) {
      const split: { op: 'split'; x: number; y: number } = { op: 'split', x: 0, y: 0 };
      const at = emit(split);
      split.x = at + 1;
      add(item);
      if (!Number.isFinite(max)) emit({ op: 'jump', x: at });
      splits.push(split);
    }
    for (const split of splits) split.y = program.length;
  };
  add(root);
  emit({ op: 'match' });
  return program;
}

/** A compiled pattern. */
export interface LinearRegex {
  /** Tells whether the pattern matches somewhere in the text. `spend` is told the work, about a unit a step. */
  test(text: string, spend: (units: number) => void): boolean;
}

/** Reads a pattern. @throws an Error in the words of RE2 where it is not understood. */
export function compileRegex(source: string): LinearRegex {
  const program = compile(new PatternParser(source).parse());
  return {
    test: (text, spend) =>
      run(
        program,
        Array.from(text, (character) => character.codePointAt(0) ?? 0),
        spend,
      ),
  };
}

function run(program: readonly Instruction[], codes: readonly number[], spend: (units: number) => void): boolean {
  let current: number[] = [];
  const seen = new Int32Array(program.length).fill(-1);
  for (let at = 0; at <= codes.length; at += 1) {
    // A match may begin anywhere, so that a new thread starts at every place.
    if (follow(program, [0], { seen, at, codes, threads: current })) return true;
    if (at === codes.length) break;
    spend(1 + Math.ceil(current.length / 16));
    const next: number[] = [];
    const code = codes[at] ?? 0;
    const starts: number[] = [];
    for (const thread of current) {
      const instruction = program[thread];
      if (instruction?.op === 'char' && instruction.test(code)) starts.push(thread + 1);
    }
    if (follow(program, starts.reverse(), { seen, at: at + 1, codes, threads: next })) return true;
    current = next;
  }
  return false;
}

interface Walk {
  readonly seen: Int32Array;
  readonly at: number;
  readonly codes: readonly number[];
  readonly threads: number[];
}

/** Follows all that needs no character; true when it leads to a match. */
function follow(program: readonly Instruction[], starts: number[], { seen, at, codes, threads }: Walk): boolean {
  const stack = starts;
  for (let thread = stack.pop(); thread !== undefined; thread = stack.pop()) {
    if (seen[thread] === at) continue;
    seen[thread] = at;
    const instruction = program[thread];
    if (instruction === undefined || instruction.op === 'match') return true;
    if (instruction.op === 'char') threads.push(thread);
    else if (instruction.op === 'jump') stack.push(instruction.x);
    else if (instruction.op === 'split') stack.push(instruction.y, instruction.x);
    else if (holds(instruction.what, codes, at)) stack.push(thread + 1);
  }
  return false;
}

function holds(what: '^' | '$' | 'b' | 'B', codes: readonly number[], at: number): boolean {
  if (what === '^') return at === 0;
  if (what === '$') return at === codes.length;
  const before = at > 0 && isWord(codes[at - 1] ?? 0);
  const after = at < codes.length && isWord(codes[at] ?? 0);
  return (before !== after) === (what === 'b');
}
