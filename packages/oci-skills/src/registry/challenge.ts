/** One challenge of a `WWW-Authenticate` header. Parameter names are in lower case. */
export interface Challenge {
  readonly scheme: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const MOST_CHARACTERS = 8192;
const token = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const value = /"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~0-9A-Za-z:/-]+)/y;

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function skip(text: string, at: number, units: string): number {
  let index = at;
  while (index < text.length && units.includes(text[index] as string)) index += 1;
  return index;
}

/**
 * The challenges of a `WWW-Authenticate` header, up to the first thing that is none.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1
 */
export function parseChallenges(header: string): readonly Challenge[] {
  const text = header.slice(0, MOST_CHARACTERS);
  const challenges: { scheme: string; parameters: Map<string, string> }[] = [];
  for (let at = skip(text, 0, ' ,\t'); at < text.length; at = skip(text, at, ' ,\t')) {
    const word = match(token, text, at);
    if (word === null) break;
    at += word[0].length;
    const equals = skip(text, at, ' \t');
    const current = challenges.at(-1);
    if (text[equals] !== '=' || current === undefined) {
      challenges.push({ scheme: word[0].toLowerCase(), parameters: new Map() });
      continue;
    }
    const found = match(value, text, skip(text, equals + 1, ' \t'));
    if (found === null) break;
    at = found.index + found[0].length;
    current.parameters.set(word[0].toLowerCase(), found[2] ?? (found[1] ?? '').replaceAll(/\\(.)/g, '$1'));
  }
  return challenges;
}
