import { byteLength, encode, isPrint } from './text.js';

const HTML: Readonly<Record<string, string>> = {
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\0': '\uFFFD',
};

/**
 * Text for HTML content and attributes.
 *
 * @see https://pkg.go.dev/text/template#HTMLEscaper
 */
export function escapeHtml(text: string): string {
  return text.replace(/["'&<>\0]/g, (character) => HTML[character] ?? character);
}

/**
 * Text for the inside of a JavaScript string.
 *
 * @see https://pkg.go.dev/text/template#JSEscaper
 */
export function escapeJs(text: string): string {
  return text.replace(/[\\'"<>&=]|[^ -~]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (character === '\\' || character === "'" || character === '"') return `\\${character}`;
    // A lone surrogate stands for a byte that is no text; Go leaves it alone.
    const plain = code >= 0x7f && (code === 0x7f || isPrint(code) || byteLength(character) === 1);
    return plain ? character : `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`;
  });
}

/**
 * Text for a URL's query.
 *
 * @see https://pkg.go.dev/net/url#QueryEscape
 */
export function escapeQuery(text: string): string {
  return text.replace(/[^A-Za-z0-9\-_.~]+/g, (run) => {
    let escaped = '';
    for (const byte of encode(run)) {
      escaped += byte === 0x20 ? '+' : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    }
    return escaped;
  });
}
