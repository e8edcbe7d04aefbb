import { PGraph } from 'p-graph';
import pLimit from 'p-limit';

/** A step starts when its last dependency ends: the least that an executor can do. */
export function runEager(graph, step, limit) {
  const left = Int32Array.from(graph, (dependencies) => dependencies.length);
  const dependents = graph.map(() => []);
  for (const [index, dependencies] of graph.entries()) for (const on of dependencies) dependents[on].push(index);
  const ready = [...left.keys()].filter((index) => left[index] === 0);
  return new Promise((resolve, reject) => {
    let [head, running, open] = [0, 0, graph.length];
    const end = (index) => {
      for (const dependent of dependents[index]) if (--left[dependent] === 0) ready.push(dependent);
      running -= 1;
      if (--open === 0) resolve();
      else pump();
    };
    const pump = () => {
      for (; running < limit && head < ready.length; running += 1) {
        const index = ready[head++];
        step(index).then(() => end(index), reject);
      }
    };
    pump();
  });
}

/** Level after level, each with a limit of p-limit. */
export async function runLevels(graph, step, limit) {
  const left = graph.map((dependencies) => dependencies.length);
  const dependents = graph.map(() => []);
  for (const [index, dependencies] of graph.entries()) for (const on of dependencies) dependents[on].push(index);
  const limited = pLimit(limit);
  let level = [...left.keys()].filter((index) => left[index] === 0);
  while (level.length > 0) {
    await Promise.all(level.map((index) => limited(() => step(index))));
    const next = [];
    for (const index of level)
      for (const dependent of dependents[index]) if (--left[dependent] === 0) next.push(dependent);
    level = next;
  }
}

export async function runPGraph(graph, step) {
  const nodes = new Map(graph.map((_, index) => [String(index), { run: () => step(index) }]));
  const edges = graph.flatMap((dependencies, index) => dependencies.map((on) => [String(on), String(index)]));
  await new PGraph(nodes, edges).run();
}
