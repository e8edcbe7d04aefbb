import { WorkflowError } from './errors.js';
import { findCycle, readEdges, readLevels, type Edges, type GraphStep } from './graph.js';
import type { Graph } from './scheduler.js';

/** Figures about a plan, under the names that dashboards read. */
export interface PlanStats {
  readonly total_levels: number;
  readonly total_steps: number;
  /** Steps in the largest level. */
  readonly max_parallelism: number;
  /** Steps in the smallest level. */
  readonly min_parallelism: number;
  /** Levels of a single step. */
  readonly sequential_steps: number;
}

/** In which order the steps of a workflow run. */
export interface Plan {
  /** Ids; every step is in the first level that comes after all it depends on, in document order. */
  readonly levels: readonly (readonly string[])[];
  readonly stats: PlanStats;
  /** The same as numbers, for a scheduler: a step is its index in the definition. */
  readonly graph: Graph;
}

/**
 * Makes the plan of a workflow, in time linear in steps and dependencies.
 *
 * @throws WorkflowError `ERR_WORKFLOW_DAG_CYCLE` with the cycle in `details.cycle`, or `ERR_WORKFLOW_DAG_INVALID` for an
 * unknown dependency or a repeated id.
 */
export function buildPlan(definition: { readonly steps: readonly GraphStep[] }): Plan {
  const { steps } = definition;
  const edges = readEdges(steps);
  refuseBrokenEdges(steps, edges);
  const graph = readLevels(edges);
  const placed = graph.levels.reduce((sum, level) => sum + level.length, 0);
  if (placed < graph.size) {
    const cycle = (findCycle(edges) ?? []).map((step) => steps[step]?.id ?? '');
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_CYCLE',
      `circular dependency detected: ${cycle.join(' -> ')}; remove one of these entries of dependsOn`,
      { details: { cycle } },
    );
  }
  return {
    levels: graph.levels.map((level) => level.map((step) => steps[step]?.id ?? '')),
    stats: statsOf(graph.levels),
    graph,
  };
}

function refuseBrokenEdges(steps: readonly GraphStep[], { duplicates, unknown }: Edges): void {
  const [duplicate] = duplicates;
  if (duplicate !== undefined) {
    const id = steps[duplicate]?.id ?? '';
    throw new WorkflowError('ERR_WORKFLOW_DAG_INVALID', `step id "${id}" is duplicated; give each step its own id`, {
      details: { stepId: id },
    });
  }
  const [missing] = unknown;
  if (missing !== undefined) {
    const id = steps[missing.step]?.id ?? '';
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_INVALID',
      `step "${id}" depends on unknown step "${missing.dependency}"; name a step of the workflow`,
      { details: { stepId: id, dependency: missing.dependency } },
    );
  }
}

function statsOf(levels: readonly (readonly unknown[])[]): PlanStats {
  let total = 0;
  let largest = 0;
  let smallest = levels.length === 0 ? 0 : Number.POSITIVE_INFINITY;
  let single = 0;
  for (const { length } of levels) {
    total += length;
    largest = Math.max(largest, length);
    smallest = Math.min(smallest, length);
    if (length === 1) single += 1;
  }
  return {
    total_levels: levels.length,
    total_steps: total,
    max_parallelism: largest,
    min_parallelism: smallest,
    sequential_steps: single,
  };
}
