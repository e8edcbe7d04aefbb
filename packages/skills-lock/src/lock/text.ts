/** Characters that show something: letters, marks, numbers, punctuation, symbols. */
const GRAPHIC = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]+$/u;
const GRAPHIC_OR_SPACE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]*$/u;

/** True for text without spaces, controls, bidirectional marks and zero-width characters. */
export const isGraphic = (text: string): boolean => GRAPHIC.test(text);

/** As {@link isGraphic}, with spaces inside. */
export const isGraphicOrSpace = (text: string): boolean => GRAPHIC_OR_SPACE.test(text);

/**
 * Removes everything from foreign text that could repaint a terminal: controls, escapes, bidirectional marks,
 * zero-width characters, line separators.
 */
export function printable(text: string): string {
  return text.replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]/gu, '');
}

/** Byte order of UTF-8; JavaScript's own order differs for characters above U+FFFF. */
export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
