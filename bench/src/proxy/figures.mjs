/** Compares thv with the reference and the best peer, and reports each figure that has a target. */
export function judge(report, { rows, starts, sessions }) {
  const cell = (label, target) => rows.find((row) => row.cell === label && row.target === target) ?? {};
  const peers = ['mcp-proxy', 'supergateway'];
  // One request in flight measures how fast the system wakes processes up: no target, but in the table.
  for (const connections of [16, 64]) {
    const label = `100B/${connections}`;
    const [ours, reference] = [cell(label, 'thv'), cell(label, 'reference')];
    const best = Math.min(...peers.map((peer) => cell(label, peer)['cpu µs'] ?? Infinity));
    compare(report, `${label}/cpu`, 'us', ours['cpu µs'], reference['cpu µs'], { atMost: 1.5 });
    compare(report, `${label}/cpu-of-best-peer`, 'us', ours['cpu µs'], best, { atMost: 0.2 });
    compare(report, `${label}/throughput`, '/s', ours['req/s'], reference['req/s'], { atLeast: 0.75 });
  }
  for (const kind of ['string', 'nested']) {
    for (const connections of [16, 64]) {
      const label = `100KB-${kind}/${connections}`;
      const [ours, reference] = [cell(label, 'thv'), cell(label, 'reference')];
      compare(report, `${label}/cpu`, 'us', ours['cpu µs'], reference['cpu µs'], { atMost: 0.6 });
      compare(report, `${label}/throughput`, '/s', ours['req/s'], reference['req/s'], { atLeast: 1 });
    }
  }
  judgeOnce(report, starts, sessions);
}

function judgeOnce(report, starts, sessions) {
  const [start, bare] = [starts.get('thv'), starts.get('reference')];
  compare(report, 'start', 'ms', start?.ms, bare?.ms, { atMost: 300, absolute: true });
  compare(report, 'rest/rss', 'MB', start?.rss, bare?.rss, { atMost: 70, absolute: true });
  const [ours, reference] = [sessions.get('thv'), sessions.get('reference')];
  compare(report, '200-sessions/time', 'ms', ours?.ms, reference?.ms, { atMost: 150, absolute: true });
  compare(report, '200-sessions/rss-growth', 'MB', ours?.growth, undefined, { atMost: 10, absolute: true });
  compare(report, '200-sessions/servers', '', ours?.backends, reference?.backends, { atMost: 1, absolute: true });
}

function compare(report, name, unit, ours, reference, target) {
  report.figure({ name, unit, ours, reference, ...target });
}
