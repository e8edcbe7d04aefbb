import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildPlan, createEngine, parseDefinition, type Scheduling, type WorkflowDefinition } from '../src/index.js';
import { createScheduler } from '../src/scheduler.js';
import { fakeTools } from './support/tools.js';

type Fate = 'works' | 'fails' | 'fails and goes on' | 'is skipped';

interface Node {
  readonly fate: Fate;
  readonly dependsOn: readonly number[];
}

/** Graphs of up to 100 steps in an order that is not that of their levels. */
const graphs = fc
  .array(
    fc.record({
      fate: fc.constantFrom<Fate>('works', 'works', 'works', 'fails', 'fails and goes on', 'is skipped'),
      picks: fc.array(fc.nat(), { maxLength: 5 }),
    }),
    {
      minLength: 1,
      maxLength: 100,
    },
  )
  .chain((raw) => {
    const nodes = raw.map(({ fate, picks }, index): Node => ({
      fate,
      dependsOn: index === 0 ? [] : [...new Set(picks.map((pick) => pick % index))],
    }));
    return fc
      .shuffledSubarray(
        nodes.map((_node, index) => index),
        { minLength: nodes.length },
      )
      .map((order) => ({ nodes, order }));
  });

function toDefinition(
  nodes: readonly Node[],
  order: readonly number[],
  failureMode: 'abort' | 'continue',
): WorkflowDefinition {
  return parseDefinition(
    {
      name: 'random',
      description: 'A random graph.',
      failureMode,
      steps: order.map((index) => {
        const node = nodes[index] as Node;
        return {
          id: `s${index}`,
          tool: node.fate.startsWith('fails') ? 't.fail' : 't.work',
          dependsOn: node.dependsOn.map((dependency) => `s${dependency}`),
          ...(node.fate === 'is skipped' ? { condition: 'false' } : {}),
          ...(node.fate === 'fails and goes on' ? { onError: { action: 'continue' } } : {}),
        };
      }),
    },
    { format: 'config' },
  );
}

/** The status that each step must have when nothing aborts: a walk in any order that respects dependencies. */
function reference(nodes: readonly Node[]): Record<string, string> {
  const statuses: Record<string, string> = {};
  for (const [index, { fate }] of nodes.entries()) {
    statuses[`s${index}`] = fate === 'works' ? 'completed' : fate === 'is skipped' ? 'skipped' : 'failed';
  }
  return statuses;
}

describe.each<Scheduling>(['levels', 'eager'])('random graphs, %s', (scheduling) => {
  it('end as a simple executor says, with each step after all it depends on', async () => {
    await fc.assert(
      fc.asyncProperty(graphs, fc.integer({ min: 1, max: 20 }), async ({ nodes, order }, maxParallel) => {
        const ended = new Set<string>();
        const started: string[] = [];
        const early: string[] = [];
        let active = 0;
        let most = 0;
        const tools = fakeTools({
          't.work': () => 'x',
          't.fail': () => Promise.reject(new Error('down')),
        });
        const engine = createEngine({
          tools,
          scheduling,
          limits: { maxParallel },
          onEvent: (event) => {
            if (event.type === 'step_started') {
              active += 1;
              most = Math.max(most, active);
              started.push(event.stepId);
              const node = nodes[Number(event.stepId.slice(1))];
              for (const dependency of node?.dependsOn ?? [])
                if (!ended.has(`s${dependency}`)) early.push(event.stepId);
            } else if (event.type === 'step_completed' || event.type === 'step_failed') {
              active -= 1;
              ended.add(event.stepId);
            } else if (event.type === 'step_skipped') ended.add(event.stepId);
          },
        });
        const result = await (await engine.run(toDefinition(nodes, order, 'continue'))).result;
        expect(result.status).toBe('completed');
        expect(Object.fromEntries(Object.entries(result.steps).map(([id, { status }]) => [id, status]))).toEqual(
          reference(nodes),
        );
        expect(early).toEqual([]);
        expect(new Set(started).size).toBe(started.length);
        expect(most).toBeLessThanOrEqual(maxParallel);
      }),
      { numRuns: 60 },
    );
  });

  it('start nothing that depends on an unhandled failure', async () => {
    await fc.assert(
      fc.asyncProperty(graphs, async ({ nodes, order }) => {
        const tools = fakeTools({ 't.work': () => 'x', 't.fail': () => Promise.reject(new Error('down')) });
        const result = await (
          await createEngine({ tools, scheduling }).run(toDefinition(nodes, order, 'abort'))
        ).result;
        const fails = nodes.some(({ fate }) => fate === 'fails');
        expect(result.status).toBe(fails ? 'failed' : 'completed');
        for (const [index, { dependsOn }] of nodes.entries()) {
          const broken = dependsOn.some((dependency) => nodes[dependency]?.fate === 'fails');
          if (broken) expect(result.steps[`s${index}`]).toBeUndefined();
        }
      }),
      { numRuns: 60 },
    );
  });

  it('go on from any point where they stopped', () => {
    fc.assert(
      fc.property(graphs, fc.nat(), ({ nodes, order }, cut) => {
        const { graph } = buildPlan(toDefinition(nodes, order, 'abort'));
        const first = createScheduler(graph, scheduling);
        const over: number[] = [];
        for (let step = first.next(); step >= 0 && over.length < cut % (graph.size + 1); step = first.next()) {
          over.push(step);
          first.complete(step);
        }
        const second = createScheduler(graph, scheduling, over);
        expect(second.left()).toBe(graph.size - over.length);
        const rest: number[] = [];
        for (let step = second.next(); step >= 0; step = second.next()) {
          rest.push(step);
          second.complete(step);
        }
        expect([...over, ...rest].sort((a, b) => a - b)).toEqual(nodes.map((_node, index) => index));
      }),
      { numRuns: 100 },
    );
  });
});
