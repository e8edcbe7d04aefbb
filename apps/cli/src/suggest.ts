/** Edit distance where a swap of neighbours counts as one (optimal string alignment). */
export function distance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      }
      row.push(best);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
}

/** Up to `limit` candidates that somebody who typed `word` may have meant, best first; empty when nothing is near. */
export function closest(word: string, candidates: Iterable<string>, limit = 3): string[] {
  const wanted = word.toLowerCase();
  const near = [...new Set(candidates)]
    .map((candidate) => {
      const text = candidate.toLowerCase();
      const isPart = wanted.length >= 3 && (text.includes(wanted) || wanted.includes(text));
      return { candidate, cost: isPart ? 1 : distance(wanted, text) };
    })
    .filter(({ candidate, cost }) => cost <= Math.max(1, Math.floor(Math.max(word.length, candidate.length) * 0.4)))
    .sort((a, b) => a.cost - b.cost || (a.candidate < b.candidate ? -1 : 1));
  const best = near[0]?.cost ?? 0;
  return near
    .filter(({ cost }) => cost <= best + 1)
    .slice(0, limit)
    .map(({ candidate }) => candidate);
}

/** ` (did you mean "a" or "b"?)`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const near = closest(word, candidates);
  return near.length === 0 ? '' : ` (did you mean ${near.map((name) => `"${name}"`).join(' or ')}?)`;
}
