/** A canonical prefix code. Codes are stored with their bits reversed, as deflate sends them. */
export interface PrefixCode {
  readonly lengths: Uint8Array;
  readonly codes: Uint16Array;
}

/** Depths of the leaves of an optimal tree over `weights`, ascending and at least two; written over them. */
function treeDepths(weights: Float64Array): void {
  const size = weights.length;
  const parents = new Int32Array(2 * size - 1);
  const nodes = new Float64Array(2 * size - 1);
  nodes.set(weights);
  let leaf = 0;
  let inner = size;
  for (let next = size; next < nodes.length; next += 1) {
    let sum = 0;
    for (let child = 0; child < 2; child += 1) {
      const isLeaf = leaf < size && (inner >= next || (nodes[leaf] as number) <= (nodes[inner] as number));
      const chosen = isLeaf ? leaf++ : inner++;
      sum += nodes[chosen] as number;
      parents[chosen] = next;
    }
    nodes[next] = sum;
  }
  nodes[nodes.length - 1] = 0;
  for (let node = nodes.length - 2; node >= 0; node -= 1) nodes[node] = (nodes[parents[node] as number] as number) + 1;
  weights.set(nodes.subarray(0, size));
}

/** How many codes have each length, none above `limit`, with the code space filled exactly. */
function limitLengths(depths: Float64Array, limit: number): Uint32Array {
  const counts = new Uint32Array(limit + 1);
  for (const depth of depths) counts[Math.min(depth, limit)] = (counts[Math.min(depth, limit)] as number) + 1;
  let used = 0;
  for (let length = 1; length <= limit; length += 1) used += (counts[length] as number) << (limit - length);
  for (; used > 1 << limit; used -= 1) {
    counts[limit] = (counts[limit] as number) - 1;
    let length = limit - 1;
    while (counts[length] === 0) length -= 1;
    counts[length] = (counts[length] as number) - 1;
    counts[length + 1] = (counts[length + 1] as number) + 2;
  }
  return counts;
}

function reverse(code: number, length: number): number {
  let reversed = 0;
  for (let bit = 0; bit < length; bit += 1) reversed |= ((code >> bit) & 1) << (length - 1 - bit);
  return reversed;
}

/** @see https://www.rfc-editor.org/rfc/rfc1951#section-3.2.2 */
function assignCodes(lengths: Uint8Array, limit: number): Uint16Array {
  const next = new Uint32Array(limit + 2);
  for (const length of lengths) if (length > 0) next[length + 1] = (next[length + 1] as number) + 1;
  for (let length = 1; length <= limit; length += 1)
    next[length + 1] = ((next[length + 1] as number) + (next[length] as number)) << 1;
  const codes = new Uint16Array(lengths.length);
  for (const [symbol, length] of lengths.entries()) {
    if (length === 0) continue;
    codes[symbol] = reverse(next[length] as number, length);
    next[length] = (next[length] as number) + 1;
  }
  return codes;
}

/** The best prefix code for symbols that occur so often, with no code longer than `limit`. Ties go by symbol. */
export function prefixCode(frequencies: Uint32Array, limit: number): PrefixCode {
  const lengths = new Uint8Array(frequencies.length);
  // Frequencies stay below 2^17 and symbols below 2^9, so that one number holds both.
  const used = Uint32Array.from(
    [...frequencies.entries()].filter(([, count]) => count > 0),
    ([symbol, count]) => count * 512 + symbol,
  ).sort();
  if (used.length === 1) lengths[(used[0] as number) % 512] = 1;
  if (used.length > 1) {
    const depths = Float64Array.from(used, (entry) => Math.floor(entry / 512));
    treeDepths(depths);
    const counts = limitLengths(depths, limit);
    let at = used.length;
    for (let length = 1; length <= limit; length += 1) {
      for (let left = counts[length] as number; left > 0; left -= 1) lengths[(used[--at] as number) % 512] = length;
    }
  }
  return { lengths, codes: assignCodes(lengths, limit) };
}
