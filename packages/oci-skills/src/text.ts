/** Compares by UTF-8 byte order, which is code point order; JavaScript's own order is that of UTF-16 units. */
export function compareUtf8(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    let a = left.charCodeAt(index);
    let b = right.charCodeAt(index);
    if (a === b) continue;
    // Surrogates stand for code points above every unit of the basic plane.
    const isHighA = a >= 0xd800 && a <= 0xdfff;
    const isHighB = b >= 0xd800 && b <= 0xdfff;
    if (isHighA !== isHighB) {
      a = isHighA ? 0x1_0000 : a;
      b = isHighB ? 0x1_0000 : b;
    }
    return a - b;
  }
  return left.length - right.length;
}

/** Text from outside made safe to print in a message: no control or invisible characters, bounded. */
export function printable(text: string, most = 120): string {
  const clean = text.replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]/gu, '\u{FFFD}');
  return clean.length > most ? `${clean.slice(0, most)}…` : clean;
}
