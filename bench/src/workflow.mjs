// Workflows: what scheduling, a whole run and a template cost, in processor time.
import { parseTemplate } from '../../packages/go-template/dist/index.js';
import { buildPlan, createEngine } from '../../packages/workflow-dag/dist/index.js';
import { createScheduler } from '../../packages/workflow-dag/dist/scheduler.js';
import { CRITICAL_PATH_MS, definitionOf, graphs, skewed } from './workflow/graphs.mjs';
import { runEager, runLevels, runPGraph } from './workflow/references.mjs';
import { median } from './lib/stats.mjs';

const LIMITS = { maxSteps: 20_000, maxParallel: 100, maxRunsPerPrincipal: 1000 };

/** Microseconds of processor time for one step: the step's own promise included. */
async function cpuPerStep(graph, times, run) {
  const before = process.cpuUsage();
  for (let count = 0; count < times; count += 1) await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times / graph.length;
}

/** Scheduling alone: counters, and the step's promise. */
function runScheduler(plan, step) {
  const scheduler = createScheduler(plan.graph, 'eager');
  return new Promise((resolve, reject) => {
    const pump = () => {
      for (let index = scheduler.next(); index >= 0; index = scheduler.next()) {
        const current = index;
        step(current).then(() => {
          scheduler.complete(current);
          if (scheduler.left() === 0) resolve();
          else pump();
        }, reject);
      }
    };
    pump();
  });
}

function candidates(graph) {
  const definition = definitionOf(graph);
  const plan = buildPlan(definition);
  const result = { content: [{ type: 'text', text: 'ok' }] };
  const tools = { resolve: () => ({ name: 'tool' }), call: async () => result };
  const engine = createEngine({ tools, limits: LIMITS, validation: false });
  const step = async () => undefined;
  const runEngine = async (scheduling) => {
    const run = await engine.run(definition, {}, { scheduling });
    const { status } = await run.result;
    if (status !== 'completed') throw new Error(`the run ended as ${status}`);
  };
  return {
    'scheduler alone': () => runScheduler(plan, step),
    'engine, levels': () => runEngine('levels'),
    'engine, eager': () => runEngine('eager'),
    'in-degree, 12 lines': () => runEager(graph, step, 100),
    'levels with p-limit': () => runLevels(graph, step, 10),
    'p-graph': () => runPGraph(graph, step),
  };
}

async function measureGraph(report, name, graph, reps) {
  const runs = candidates(graph);
  const times = Math.max(1, Math.round(15_000 / graph.length));
  const samples = new Map(Object.keys(runs).map((key) => [key, []]));
  for (let rep = 0; rep < reps + 1; rep += 1) {
    for (const [key, run] of Object.entries(runs)) {
      const us = await cpuPerStep(graph, key === 'p-graph' ? Math.max(1, times >> 2) : times, run);
      // The first round is for the compiler.
      if (rep === 0) continue;
      samples.get(key).push(us);
      report.sample({ what: 'graph', graph: name, candidate: key, rep, us });
    }
  }
  return Object.fromEntries([...samples].map(([key, found]) => [key, median(found)]));
}

async function measureSkewed(report, reps) {
  const { graph, delays } = skewed;
  const definition = definitionOf(graph);
  const tools = {
    resolve: () => ({ name: 'tool' }),
    call: ({ stepId }) => new Promise((resolve) => setTimeout(resolve, delays[Number(stepId.slice(1))], {})),
  };
  const engine = createEngine({ tools, validation: false });
  const walls = { eager: [], levels: [] };
  for (let rep = 0; rep < reps; rep += 1) {
    for (const scheduling of ['eager', 'levels']) {
      const started = performance.now();
      await (
        await engine.run(definition, {}, { scheduling })
      ).result;
      walls[scheduling].push(performance.now() - started);
      report.sample({ what: 'skewed', scheduling, rep, ms: walls[scheduling].at(-1) });
    }
  }
  // Whatever else the machine does can only make it slower: the quickest round is the nearest to the truth.
  return { eager: Math.min(...walls.eager), levels: Math.min(...walls.levels) };
}

const SOURCE =
  'Incident {{.params.incident_id}} in {{.params.time_range}}: {{.steps.fetch_logs.output.count}} logs, ' +
  '{{.steps.fetch_logs.status}}; {{.steps.correlate.output.summary}}';
const DATA = {
  params: { incident_id: 'INC-42', time_range: '1h' },
  steps: {
    fetch_logs: { status: 'completed', output: { count: 17, text: 'x'.repeat(40) } },
    correlate: { output: { summary: 'all good' } },
  },
};
const RENDERED = 'Incident INC-42 in 1h: 17 logs, completed; all good';

/** The least that can be done: a list of literals and paths, walked. */
function pathWalker() {
  const parts = SOURCE.split(/\{\{\.(.*?)\}\}/).map((part, index) => (index % 2 === 1 ? part.split('.') : part));
  return (data) => {
    let text = '';
    for (const part of parts) {
      if (typeof part === 'string') text += part;
      else text += part.reduce((value, key) => value?.[key], data);
    }
    return text;
  };
}

function cpuPerCall(times, call) {
  for (let count = 0; count < times / 4; count += 1) call();
  const before = process.cpuUsage();
  for (let count = 0; count < times; count += 1) call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

function measureTemplates(report, reps) {
  const template = parseTemplate(SOURCE, { name: 'expand' });
  const walk = pathWalker();
  for (const render of [() => template.execute(DATA), () => walk(DATA)]) {
    if (render() !== RENDERED) throw new Error(`a template gave ${render()}`);
  }
  const found = { render: [], walk: [], parse: [] };
  for (let rep = 0; rep < reps; rep += 1) {
    found.render.push(cpuPerCall(100_000, () => template.execute(DATA)));
    found.walk.push(cpuPerCall(100_000, () => walk(DATA)));
    found.parse.push(cpuPerCall(5000, () => parseTemplate(SOURCE, { name: 'expand' })));
  }
  const medians = { render: median(found.render), walk: median(found.walk), parse: median(found.parse) };
  report.sample({ what: 'template', ...found });
  return medians;
}

/** Measures all graphs in turns, then the skewed one, then templates. */
export async function run(report, { reps = 5 }) {
  const rows = [];
  for (const [name, graph] of Object.entries(graphs)) {
    const us = await measureGraph(report, name, graph, reps);
    rows.push({ graph: name, ...us });
    const [scheduler, reference] = [us['scheduler alone'], us['in-degree, 12 lines']];
    report.figure({ name: `schedule/${name}`, unit: 'us', ours: scheduler, reference, atMost: 1, absolute: true });
    for (const mode of ['levels', 'eager']) {
      const ours = us[`engine, ${mode}`];
      report.figure({
        name: `engine-${mode}/${name}`,
        unit: 'us',
        ours,
        reference: us['p-graph'],
        atMost: 10,
        absolute: true,
      });
    }
  }
  report.table(
    'processor time a step, microseconds; the references run no tools, keep no state and tell no events',
    rows,
  );
  const walls = await measureSkewed(report, Math.max(5, reps));
  report.figure({ name: 'eager/skewed', unit: 'ms', ours: walls.eager, reference: CRITICAL_PATH_MS, atMost: 1.05 });
  report.note(`levels on the skewed graph: ${Math.round(walls.levels)} ms`);
  const { render, walk, parse } = measureTemplates(report, reps);
  report.figure({ name: 'template/render', unit: 'us', ours: render, reference: walk, atMost: 1, absolute: true });
  report.figure({ name: 'template/parse', unit: 'us', ours: parse, atMost: 20, absolute: true });
}
