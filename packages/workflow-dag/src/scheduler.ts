/** When a step may start: after the whole level before it, or as soon as its own dependencies are over. */
export type Scheduling = 'levels' | 'eager';

/** The graph in the form that scheduling needs: steps are numbers, in document order. */
export interface Graph {
  readonly size: number;
  /** For each step the steps that wait for it. */
  readonly dependents: readonly (readonly number[])[];
  /** For each step the number of different steps that it waits for. */
  readonly dependencyCounts: Int32Array;
  /** For each step its level, from 0. */
  readonly levelOf: Int32Array;
  /** The steps of each level, in document order. */
  readonly levels: readonly (readonly number[])[];
}

/** Decides which step comes next. Counters only: no promise, no timer. */
export interface Scheduler {
  /** Takes the next step that may start, in document order within a level; -1 where none may. */
  next(): number;
  /** True when {@link next} would answer a step. */
  ready(): boolean;
  /** Notes that a step is over, however it ended. */
  complete(step: number): void;
  /** Steps that are not over. */
  left(): number;
}

/**
 * Makes a scheduler.
 *
 * @param finished - Steps that are over already, when a run goes on after a crash.
 */
export function createScheduler(graph: Graph, mode: Scheduling, finished: readonly number[] = []): Scheduler {
  return mode === 'eager' ? eagerScheduler(graph, finished) : levelScheduler(graph, finished);
}

function eagerScheduler(graph: Graph, finished: readonly number[]): Scheduler {
  const { size, dependents } = graph;
  const waitsFor = graph.dependencyCounts.slice();
  // Allocated only where a run goes on: for a small graph two arrays cost as much as its steps.
  const over = finished.length === 0 ? undefined : new Uint8Array(size);
  const queue: number[] = [];
  let head = 0;
  let left = size;
  const complete = (step: number): void => {
    left -= 1;
    for (const dependent of dependents[step] ?? []) {
      const count = (waitsFor[dependent] ?? 0) - 1;
      waitsFor[dependent] = count;
      if (count === 0 && over?.[dependent] !== 1) queue.push(dependent);
    }
  };
  for (const step of finished) if (over !== undefined) over[step] = 1;
  for (const step of finished) complete(step);
  queue.length = 0;
  for (let step = 0; step < size; step += 1) if (waitsFor[step] === 0 && over?.[step] !== 1) queue.push(step);
  return {
    next: () => (head < queue.length ? (queue[head++] ?? -1) : -1),
    ready: () => head < queue.length,
    complete,
    left: () => left,
  };
}

function levelScheduler(graph: Graph, finished: readonly number[]): Scheduler {
  const over = new Uint8Array(graph.size);
  for (const step of finished) over[step] = 1;
  let left = graph.size - finished.length;
  let level = -1;
  let steps: readonly number[] = [];
  let position = 0;
  let leftInLevel = 0;
  const advance = (): void => {
    while (leftInLevel === 0 && level + 1 < graph.levels.length) {
      level += 1;
      position = 0;
      steps = graph.levels[level] ?? [];
      for (const step of steps) if (over[step] === 0) leftInLevel += 1;
    }
    while (position < steps.length && over[steps[position] ?? 0] === 1) position += 1;
  };
  advance();
  return {
    next(): number {
      if (position >= steps.length) return -1;
      const step = steps[position] ?? -1;
      position += 1;
      while (position < steps.length && over[steps[position] ?? 0] === 1) position += 1;
      return step;
    },
    ready: () => position < steps.length,
    complete(step): void {
      over[step] = 1;
      left -= 1;
      leftInLevel -= 1;
      if (leftInLevel === 0) advance();
    },
    left: () => left,
  };
}
