import type { Graph } from './scheduler.js';

/** What the graph needs to know of a step. */
export interface GraphStep {
  readonly id: string;
  readonly dependsOn: readonly string[];
}

/** A dependency on a step that does not exist. */
export interface UnknownDependency {
  readonly step: number;
  readonly dependency: string;
}

/** The edges of a list of steps, before anything is known about cycles. */
export interface Edges {
  readonly indexOf: ReadonlyMap<string, number>;
  readonly dependents: readonly (readonly number[])[];
  readonly dependencies: readonly (readonly number[])[];
  readonly unknown: readonly UnknownDependency[];
  /** Steps whose id an earlier step has. */
  readonly duplicates: readonly number[];
}

/** Turns ids into numbers, in time linear in steps and dependencies. */
export function readEdges(steps: readonly GraphStep[]): Edges {
  const indexOf = new Map<string, number>();
  const duplicates: number[] = [];
  for (const [index, { id }] of steps.entries()) {
    if (indexOf.has(id)) duplicates.push(index);
    else indexOf.set(id, index);
  }
  const dependents: number[][] = steps.map(() => []);
  const unknown: UnknownDependency[] = [];
  const dependencies = steps.map(({ dependsOn }, step) => {
    const known: number[] = [];
    for (const dependency of dependsOn.length > 1 ? new Set(dependsOn) : dependsOn) {
      const index = indexOf.get(dependency);
      if (index === undefined) unknown.push({ step, dependency });
      else {
        known.push(index);
        dependents[index]?.push(step);
      }
    }
    return known;
  });
  return { indexOf, dependents, dependencies, unknown, duplicates };
}

/** Levels by Kahn's algorithm. Steps on a cycle, or after one, are in no level and have `levelOf` -1. */
export function readLevels({ dependents, dependencies }: Edges): Graph {
  const size = dependencies.length;
  const dependencyCounts = Int32Array.from(dependencies, (list) => list.length);
  const waitsFor = Int32Array.from(dependencyCounts);
  const levelOf = new Int32Array(size).fill(-1);
  const levels: number[][] = [];
  let level: number[] = [];
  for (let step = 0; step < size; step += 1) if (waitsFor[step] === 0) level.push(step);
  while (level.length > 0) {
    const next: number[] = [];
    for (const step of level) {
      levelOf[step] = levels.length;
      for (const dependent of dependents[step] ?? []) {
        const left = (waitsFor[dependent] ?? 0) - 1;
        waitsFor[dependent] = left;
        if (left === 0) next.push(dependent);
      }
    }
    levels.push(level);
    level = next.length > 1 ? next.sort((a, b) => a - b) : next;
  }
  return { size, dependents, dependencyCounts, levelOf, levels };
}

/**
 * The first cycle in document order, as the steps on it with the first one repeated at the end; each step waits for the
 * one after it.
 */
export function findCycle({ dependencies }: Edges): readonly number[] | undefined {
  const state = new Uint8Array(dependencies.length);
  for (let root = 0; root < dependencies.length; root += 1) {
    if (state[root] !== 0) continue;
    const path = [root];
    const positions = [0];
    state[root] = 1;
    while (path.length > 0) {
      const step = path.at(-1) ?? 0;
      const position = positions.at(-1) ?? 0;
      const dependency = dependencies[step]?.[position];
      if (dependency === undefined) {
        state[step] = 2;
        path.pop();
        positions.pop();
        continue;
      }
      positions[positions.length - 1] = position + 1;
      if (state[dependency] === 1) return [...path.slice(path.indexOf(dependency)), dependency];
      if (state[dependency] === 0) {
        state[dependency] = 1;
        path.push(dependency);
        positions.push(0);
      }
    }
  }
  return undefined;
}

/** Tells whether a step is certainly over before another one starts. */
export function ancestry({ dependencies }: Edges): (step: number, ancestor: number) => boolean {
  // One mark for all questions: sets of ancestors would take space in the square of the steps.
  const seen = new Int32Array(dependencies.length);
  let question = 0;
  return (step, ancestor) => {
    question += 1;
    const queue = [step];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      for (const dependency of dependencies[next] ?? []) {
        if (dependency === ancestor) return true;
        if (seen[dependency] === question) continue;
        seen[dependency] = question;
        queue.push(dependency);
      }
    }
    return false;
  };
}
