import { LIMITS } from '../limits.js';

/** A place in a SKILL.md: 1-based line and column. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A fault that keeps the front matter from being found. */
export interface SplitFault extends Place {
  readonly rule: string;
  readonly message: string;
}

/** A SKILL.md cut in two. */
export interface SplitFile {
  /** Text between the delimiters. */
  readonly yaml: string;
  /** Lines before `yaml` starts. */
  readonly linesBefore: number;
  readonly body: string;
  readonly hasByteOrderMark: boolean;
  readonly lineCount: number;
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

function fault(rule: string, line: number, message: string): SplitFault {
  return { rule, line, column: 1, message };
}

function decode(source: Uint8Array | string): string | SplitFault {
  if (typeof source === 'string') return source;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(source);
  } catch {
    return fault('skill/encoding', 1, 'SKILL.md is not valid UTF-8; save the file as UTF-8');
  }
}

/** The offset after the closing delimiter's line and the offset where it starts, or undefined. */
function findClosing(text: string, from: number): { readonly start: number; readonly end: number } | undefined {
  const pattern = /^---[ \t]*\r?(?:\n|$)/gm;
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  return match === null ? undefined : { start: match.index, end: match.index + match[0].length };
}

/**
 * Cut a SKILL.md into front matter and body. Both delimiters are lines of their own, so that `---` inside a value
 * does not end the front matter.
 */
export function splitFrontMatter(source: Uint8Array | string): SplitFile | SplitFault {
  const decoded = decode(source);
  if (typeof decoded !== 'string') return decoded;
  const hasByteOrderMark = decoded.startsWith('\u{FEFF}');
  const whole = hasByteOrderMark ? decoded.slice(1) : decoded;
  const text = whole.trimStart();
  const skipped = countLines(whole.slice(0, whole.length - text.length)) - 1;
  const opening = /^---[ \t]*\r?(?:\n|$)/.exec(text);
  if (opening === null) {
    return fault(
      'skill/front-matter-missing',
      skipped + 1,
      'SKILL.md does not start with front matter; begin the file with a line `---`, then `name:` and `description:`, then another line `---`',
    );
  }
  const start = opening[0].length;
  const closing = findClosing(text, start);
  if (closing === undefined || Buffer.byteLength(text.slice(start, closing.start)) > LIMITS.frontMatterBytes) {
    const isTooLarge = Buffer.byteLength(text.slice(start)) > LIMITS.frontMatterBytes;
    return isTooLarge
      ? fault(
          'skill/front-matter-size',
          skipped + 1,
          `the front matter exceeds ${LIMITS.frontMatterBytes} bytes; move text below the closing \`---\``,
        )
      : fault('skill/front-matter-open', skipped + 1, 'the front matter is not closed; end it with a line `---`');
  }
  return {
    yaml: text.slice(start, closing.start),
    linesBefore: skipped + 1,
    body: text.slice(closing.end).trimEnd(),
    hasByteOrderMark,
    lineCount: countLines(decoded.endsWith('\n') ? decoded.slice(0, -1) : decoded),
  };
}
