import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildPlan, WorkflowError } from '../src/index.js';
import { ancestry, findCycle, readEdges } from '../src/graph.js';

interface Node {
  readonly id: string;
  readonly dependsOn: readonly string[];
}

/** Graphs without cycles: a step depends on earlier ones, and the steps are shuffled. */
const acyclic: fc.Arbitrary<readonly Node[]> = fc
  .array(fc.array(fc.nat(200), { maxLength: 5 }), { minLength: 1, maxLength: 100 })
  .chain((lists) => {
    const steps = lists.map((list, index) => ({
      id: `s${index}`,
      dependsOn: index === 0 ? [] : [...new Set(list.map((value) => `s${value % index}`))],
    }));
    return fc.shuffledSubarray(steps, { minLength: steps.length });
  });

/** The longest way from a step without dependencies, straight from the definition of a level. */
function slowLevel(id: string, steps: ReadonlyMap<string, Node>, known: Map<string, number>): number {
  const found = known.get(id);
  if (found !== undefined) return found;
  const level = Math.max(0, ...(steps.get(id)?.dependsOn ?? []).map((name) => slowLevel(name, steps, known) + 1));
  known.set(id, level);
  return level;
}

describe('a plan', () => {
  it('puts each step right after all that it depends on, in document order', () => {
    fc.assert(
      fc.property(acyclic, (steps) => {
        const { levels, stats, graph } = buildPlan({ steps });
        const byId = new Map(steps.map((step) => [step.id, step]));
        const known = new Map<string, number>();
        const expected: string[][] = [];
        for (const { id } of steps) (expected[slowLevel(id, byId, known)] ??= []).push(id);
        expect(levels).toEqual(expected);
        expect(stats).toEqual({
          total_levels: expected.length,
          total_steps: steps.length,
          max_parallelism: Math.max(...expected.map(({ length }) => length)),
          min_parallelism: Math.min(...expected.map(({ length }) => length)),
          sequential_steps: expected.filter(({ length }) => length === 1).length,
        });
        expect([...graph.levelOf]).toEqual(steps.map(({ id }) => known.get(id)));
      }),
    );
  });

  it('of nothing is empty', () => {
    expect(buildPlan({ steps: [] })).toMatchObject({
      levels: [],
      stats: { total_levels: 0, total_steps: 0, max_parallelism: 0, min_parallelism: 0, sequential_steps: 0 },
    });
  });

  it('is refused for a cycle, which it names', () => {
    const steps = [
      { id: 'start', dependsOn: [] },
      { id: 'a', dependsOn: ['start', 'b'] },
      { id: 'b', dependsOn: ['c'] },
      { id: 'c', dependsOn: ['a'] },
      { id: 'after', dependsOn: ['a'] },
    ];
    expect(() => buildPlan({ steps })).toThrow(
      expect.objectContaining({ code: 'ERR_WORKFLOW_DAG_CYCLE', details: { cycle: ['a', 'b', 'c', 'a'] } }),
    );
    expect(() => buildPlan({ steps: [{ id: 'a', dependsOn: ['a'] }] })).toThrow('a -> a');
  });

  it('is refused for a dependency that does not exist and for an id used twice', () => {
    const invalid = expect.objectContaining({ code: 'ERR_WORKFLOW_DAG_INVALID' });
    expect(() => buildPlan({ steps: [{ id: 'a', dependsOn: ['b'] }] })).toThrow(invalid);
    const twice = { id: 'a', dependsOn: [] };
    expect(() => buildPlan({ steps: [twice, twice] })).toThrow(invalid);
  });

  it('is refused exactly where there is a cycle', () => {
    const graphs = fc.array(fc.array(fc.nat(19), { maxLength: 3 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(graphs, (lists) => {
        const steps = lists.map((list, index) => ({
          id: `s${index}`,
          dependsOn: [...new Set(list.map((value) => `s${value % lists.length}`))],
        }));
        const cycle = findCycle(readEdges(steps));
        if (cycle === undefined) {
          expect(buildPlan({ steps }).levels.flat()).toHaveLength(steps.length);
          return;
        }
        expect(cycle[0]).toBe(cycle.at(-1));
        for (const [index, step] of cycle.slice(0, -1).entries()) {
          expect(steps[step]?.dependsOn).toContain(`s${cycle[index + 1]}`);
        }
        expect(() => buildPlan({ steps })).toThrow(WorkflowError);
      }),
    );
  });

  it('of a chain of ten thousand steps is made without recursion', () => {
    const steps = Array.from({ length: 10_000 }, (_, index) => ({
      id: `s${index}`,
      dependsOn: index === 0 ? [] : [`s${index - 1}`],
    }));
    expect(buildPlan({ steps }).levels).toHaveLength(10_000);
    const edges = readEdges([{ id: 's0', dependsOn: ['s9999'] }, ...steps.slice(1)]);
    expect(findCycle(edges)).toHaveLength(10_001);
    expect(ancestry(readEdges(steps))(9999, 0)).toBe(true);
  });
});
