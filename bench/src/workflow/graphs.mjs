/** Graphs as lists of dependencies: the ten-step diamond, a wide one, a long one, and layers. */
export const graphs = {
  'diamond-10': [[], [0], [0], [0], [0], [1, 2], [3, 4], [5, 6], [5, 6], [7, 8]],
  'fan-1000': [[], ...Array.from({ length: 998 }, () => [0]), Array.from({ length: 998 }, (_, index) => index + 1)],
  'chain-10000': Array.from({ length: 10_000 }, (_, index) => (index === 0 ? [] : [index - 1])),
  'layers-100x100': Array.from({ length: 10_000 }, (_, index) => {
    if (index < 100) return [];
    const layer = (Math.floor(index / 100) - 1) * 100;
    return [index - 100, layer + ((index + 1) % 100), layer + ((index + 7) % 100)];
  }),
};

/** Two chains of three steps: the slow step of one is the first, that of the other the second. */
export const skewed = { graph: [[], [], [0], [1], [2], [3]], delays: [10, 100, 100, 10, 10, 10] };
export const CRITICAL_PATH_MS = 120;

/** A workflow in the form that the parser makes. */
export function definitionOf(graph, tool = 'tool') {
  const onError = { action: 'abort', retryCount: 0, retryDelayMs: 1000, onExhausted: 'abort' };
  return {
    form: 'plain',
    name: 'bench',
    description: 'A graph.',
    timeoutMs: 1_800_000,
    failureMode: 'abort',
    steps: graph.map((dependencies, index) => ({
      id: `s${index}`,
      type: 'tool',
      tool,
      arguments: { from: 'x' },
      dependsOn: dependencies.map((dependency) => `s${dependency}`),
      timeoutMs: 300_000,
      resume: 'auto',
      idempotent: false,
      onError,
    })),
  };
}
