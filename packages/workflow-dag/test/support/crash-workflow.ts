/** What becomes of a step that was under way when its process died, by the tool or the rule that it has. */
const KINDS = [
  // Nothing says that it may be called twice: it fails, and the run goes on without it.
  { tool: 't.once', onError: { action: 'continue' }, defaultResults: { step: 'default' } },
  { tool: 't.safe' },
  { tool: 't.again', resume: 'retry' },
  { tool: 't.skip', resume: 'skip', defaultResults: { step: 'default' } },
];

/** A workflow of 30 steps: nine layers of three, a loop over five items, a condition that is false, and an end. */
export const CRASH_WORKFLOW = {
  name: 'crash',
  description: 'Thirty steps of every kind.',
  timeout: '1h',
  steps: [
    ...Array.from({ length: 27 }, (_, index) => ({
      id: `s${index}`,
      dependsOn:
        index < 3
          ? []
          : [`s${index - 3}`, `s${3 * Math.floor(index / 3) - 1}`].filter((id, at, all) => all.indexOf(id) === at),
      arguments: index < 3 ? { index: '{{.params.index}}' } : { before: `{{.steps.s${index - 3}.output.step}}` },
      ...KINDS[index % KINDS.length],
    })),
    {
      id: 'loop',
      type: 'forEach',
      collection: '[1,2,3,4,5]',
      maxParallel: 2,
      dependsOn: ['s8'],
      onError: { action: 'continue' },
      step: { tool: 't.once', arguments: { item: '{{.forEach.item}}' } },
    },
    { id: 'never', tool: 't.once', condition: 'false', dependsOn: ['s8'] },
    {
      id: 'end',
      tool: 't.safe',
      dependsOn: ['s24', 's25', 's26', 'loop', 'never'],
      arguments: { all: '{{json .steps.loop.output}}' },
    },
  ],
};
