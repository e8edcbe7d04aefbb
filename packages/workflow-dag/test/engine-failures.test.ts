import { describe, expect, it } from 'vitest';
import { createEngine, WorkflowError, type WorkflowEvent } from '../src/index.js';
import { retryDelay } from '../src/retry.js';
import { FixedClock, settle } from './support/clock.js';
import { define } from './support/define.js';
import { deferred, fakeTools } from './support/tools.js';

const down = (): never => {
  throw new Error('down');
};

describe('a failing step', () => {
  const two = `
- {id: a, tool: t.bad}
- {id: b, tool: t.good, dependsOn: [a]}
`;

  it('ends the run by default', async () => {
    const tools = fakeTools({ 't.bad': down, 't.good': () => 'x' });
    const result = await (await createEngine({ tools }).run(define(two))).result;
    expect(result.status).toBe('failed');
    expect(result.error).toEqual({
      code: 'ERR_WORKFLOW_DAG_TOOL',
      message: 'tool call failed: tool t.bad in step a: down',
    });
    expect(tools.of('t.good')).toHaveLength(0);
  });

  it('lets the rest go on in a workflow that continues', async () => {
    const tools = fakeTools({ 't.bad': down, 't.good': () => 'x' });
    const result = await (await createEngine({ tools }).run(define(two, { failureMode: 'continue' }))).result;
    expect(result.status).toBe('completed');
    expect(result.failedSteps).toEqual(['a']);
    expect(result.steps['b']?.status).toBe('completed');
  });

  it('shows its error to later templates', async () => {
    const tools = fakeTools({ 't.bad': down, 't.say': (args) => args['text'] });
    const definition = define(`
- {id: a, tool: t.bad, onError: {action: continue}}
- {id: b, tool: t.say, dependsOn: [a], arguments: {text: "{{.steps.a.status}}: {{.steps.a.error}}"}}
`);
    const result = await (await createEngine({ tools }).run(definition)).result;
    expect(result.output).toEqual({ text: 'failed: tool call failed: tool t.bad in step a: down' });
  });

  it('aborts its siblings and never starts what waits for a place', async () => {
    let aborted: unknown;
    const gate = deferred();
    const tools = fakeTools({
      't.bad': () => gate.promise,
      't.slow': (_args, call) =>
        new Promise((_resolve, reject) => {
          call.signal.addEventListener('abort', () => {
            aborted = call.signal.reason;
            reject(new Error('aborted'));
          });
        }),
      't.good': () => 'x',
    });
    const definition = define(`
- {id: a, tool: t.bad}
- {id: b, tool: t.slow}
- {id: c, tool: t.good}
`);
    const run = await createEngine({ tools, limits: { maxParallel: 2 } }).run(definition);
    gate.reject(new Error('down'));
    const result = await run.result;
    expect(result.status).toBe('failed');
    expect(WorkflowError.is(aborted, 'ERR_WORKFLOW_DAG_CANCELLED')).toBe(true);
    expect(result.steps['b']).toMatchObject({ status: 'failed', error: { code: 'ERR_WORKFLOW_DAG_CANCELLED' } });
    expect(result.steps['c']).toBeUndefined();
  });

  it('is what a tool answers that answers nothing, or throws something that is no error', async () => {
    const answers: Record<string, () => unknown> = {
      't.none': () => undefined,
      't.text': () => Promise.reject('only text'),
    };
    for (const [tool, message] of [
      ['t.none', 'the tool answered nothing'],
      ['t.text', 'only text'],
    ] as const) {
      const definition = define(`- {id: a, tool: ${tool}}`);
      const engine = createEngine({
        tools: { resolve: () => ({ name: tool }), call: async () => (await answers[tool]?.()) as never },
      });
      const result = await (await engine.run(definition)).result;
      expect(result.error?.message).toContain(message);
    }
  });

  it('is an output that is too large or too deep', async () => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 600; depth += 1) deep = { deep };
    const tools = fakeTools({ 't.large': () => ({ text: 'x'.repeat(2000) }), 't.deep': () => deep });
    const engine = createEngine({ tools, limits: { maxStepOutputBytes: 1000 } });
    for (const [tool, text] of [
      ['t.large', 'larger than 1000 bytes'],
      ['t.deep', 'nested deeper than 500 levels'],
    ] as const) {
      const result = await (
        await createEngine({ tools, limits: { maxStepOutputBytes: tool === 't.large' ? 1000 : 1e6 } }).run(
          define(`- {id: a, tool: ${tool}}`),
        )
      ).result;
      expect(result.error?.code).toBe('ERR_WORKFLOW_DAG_LIMIT');
      expect(result.error?.message).toContain(text);
    }
    await engine.close();
  });
});

describe('retries', () => {
  const retrying = (count: number, rest = ''): ReturnType<typeof define> =>
    define(
      `- {id: a, tool: t.bad, timeout: 20m, onError: {action: retry, retryCount: ${count}, retryDelay: 1s${rest}}}`,
      { timeout: '1h' },
    );

  it('wait half as long again each time, with jitter, and at most a minute', async () => {
    const clock = new FixedClock();
    const delays: number[] = [];
    const tools = fakeTools({ 't.bad': down });
    const engine = createEngine({
      tools,
      clock,
      random: { next: () => 0.5, uuid: () => 'r' },
      onEvent: (event) => {
        if (event.type === 'step_retrying') delays.push(event.delayMs);
      },
    });
    const run = await engine.run(retrying(10));
    await clock.advance(10 * 60_000);
    const result = await run.result;
    expect(tools.of('t.bad')).toHaveLength(11);
    expect(delays.map((delay) => Math.round(delay))).toEqual([
      1000, 1500, 2250, 3375, 5063, 7594, 11391, 17086, 25629, 38443,
    ]);
    expect(result.steps['a']?.retryCount).toBe(10);
    expect(clock.pending).toBe(0);
  });

  it('are capped at ten, at sixty seconds and at fifteen minutes in all', async () => {
    const clock = new FixedClock();
    const tools = fakeTools({ 't.bad': down });
    const delays: number[] = [];
    const engine = createEngine({
      tools,
      clock,
      random: { next: () => 0.999, uuid: () => 'r' },
      onEvent: (event) => {
        if (event.type === 'step_retrying') delays.push(event.delayMs);
      },
    });
    const long = define(
      '- {id: a, tool: t.bad, timeout: 2h, onError: {action: retry, retryCount: 10, retryDelay: 200s}}',
      { timeout: '3h' },
    );
    const run = await engine.run(long);
    await clock.advance(2 * 3_600_000);
    expect((await run.result).status).toBe('failed');
    // 200 seconds are above the cap, so that the delay never grows; the fourth would end after the fifteenth minute.
    expect(delays.map((delay) => Math.round(delay / 1000))).toEqual([300, 300, 300]);
  });

  it('are capped at sixty times the first delay where that is asked for', async () => {
    const clock = new FixedClock();
    const delays: number[] = [];
    const engine = createEngine({
      tools: fakeTools({ 't.bad': down }),
      clock,
      retryCap: 'go',
      random: { next: () => 0.5, uuid: () => 'r' },
      onEvent: (event) => {
        if (event.type === 'step_retrying') delays.push(event.delayMs);
      },
    });
    const short = define('- {id: a, tool: t.bad, onError: {action: retry, retryCount: 10, retryDelay: 100ms}}');
    const run = await engine.run(short);
    await clock.advance(60_000);
    await run.result;
    // 100 ms times 1.5 to the ninth is below six seconds, and so is the delay of the reference.
    expect(delays.at(-1)).toBeCloseTo(100 * 1.5 ** 9);
    expect(retryDelay({ retries: 10, initialDelayMs: 100, cap: 'go' }, 30, 0.5)).toBe(6000);
    expect(retryDelay({ retries: 10, initialDelayMs: 100, cap: '60s' }, 30, 0.5)).toBe(60_000);
    expect(retryDelay({ retries: 10, initialDelayMs: 90_000, cap: '60s' }, 1, 0.5)).toBe(90_000);
  });

  it('follow the delay that an error names, and do not follow one that says it is hopeless', async () => {
    const clock = new FixedClock();
    const errors: unknown[] = [
      Object.assign(new Error('busy'), { retryAfterMs: 30_000 }),
      Object.assign(new Error('wrong'), { code: -32_602 }),
    ];
    const tools = fakeTools({ 't.bad': () => Promise.reject(errors.shift()) });
    const run = await createEngine({ tools, clock, random: { next: () => 0, uuid: () => 'r' } }).run(retrying(5));
    await clock.advance(29_999);
    expect(tools.of('t.bad')).toHaveLength(1);
    await clock.advance(1);
    expect((await run.result).error?.message).toBe('tool call failed: tool t.bad in step a: wrong');
    expect(tools.of('t.bad')).toHaveLength(2);
  });

  it('are not made for templates, for unknown tools, nor where the error says retryable: false', async () => {
    let count = 0;
    const tools = fakeTools({
      't.bad': () => {
        count += 1;
        throw Object.assign(new Error('no'), { retryable: false });
      },
    });
    await (
      await createEngine({ tools }).run(retrying(3))
    ).result;
    expect(count).toBe(1);
    const unknown = define('- {id: a, tool: t.unknown, onError: {action: retry, retryCount: 3}}');
    const result = await (await createEngine({ tools }).run(unknown)).result;
    expect(result.steps['a']).toMatchObject({ retryCount: 0, error: { code: 'ERR_WORKFLOW_DAG_ROUTING' } });
  });

  it('do not evaluate the condition again', async () => {
    let failures = 1;
    const tools = fakeTools({
      't.flip': () => {
        if (failures > 0) {
          failures -= 1;
          throw new Error('once');
        }
        return 'x';
      },
    });
    const definition = define(
      `- {id: a, tool: t.flip, condition: '{{eq .workflow.status "pending"}}', onError: {action: retry, retryCount: 1, retryDelay: 1ms}}`,
    );
    expect((await (await createEngine({ tools }).run(definition)).result).status).toBe('completed');
  });

  it('let the run go on when they are spent and the step says so', async () => {
    const tools = fakeTools({ 't.bad': down, 't.good': () => 'x' });
    const definition = define(`
- {id: a, tool: t.bad, onError: {action: retry, retryCount: 1, retryDelay: 1ms, onExhausted: continue}, defaultResults: {text: d}}
- {id: b, tool: t.good, dependsOn: [a]}
`);
    const result = await (await createEngine({ tools }).run(definition)).result;
    expect(result.status).toBe('completed');
    expect(result.steps['a']).toMatchObject({ status: 'failed', output: { text: 'd' }, retryCount: 1 });
  });
});

describe('timeouts', () => {
  const never = (): Promise<never> => new Promise(() => undefined);

  it('fail the step with its duration in the text', async () => {
    const clock = new FixedClock();
    let signal: AbortSignal | undefined;
    const tools = fakeTools({
      't.slow': (_args, call) => {
        signal = call.signal;
        return never();
      },
    });
    const run = await createEngine({ tools, clock }).run(define('- {id: a, tool: t.slow, timeout: 90s}'));
    await clock.advance(89_999);
    expect(signal?.aborted).toBe(false);
    await clock.advance(1);
    const result = await run.result;
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'ERR_WORKFLOW_DAG_TIMEOUT', message: 'step "a" timed out after 1m30s' },
    });
    expect(signal?.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('cover all attempts and pauses of a step', async () => {
    const clock = new FixedClock();
    const tools = fakeTools({ 't.bad': down });
    const definition = define(
      '- {id: a, tool: t.bad, timeout: 5s, onError: {action: retry, retryCount: 10, retryDelay: 2s}}',
    );
    const run = await createEngine({ tools, clock, random: { next: () => 0.5, uuid: () => 'r' } }).run(definition);
    await clock.advance(60_000);
    expect((await run.result).error?.message).toBe('step "a" timed out after 5s');
    expect(tools.of('t.bad')).toHaveLength(2);
    expect(clock.pending).toBe(0);
  });

  it('end the whole run', async () => {
    const clock = new FixedClock();
    const tools = fakeTools({ 't.slow': never, 't.fast': () => 'x' });
    const definition = define('- {id: f, tool: t.fast}\n- {id: a, tool: t.slow, timeout: 40m, dependsOn: [f]}', {
      timeout: '30m',
    });
    const engine = createEngine({ tools, clock });
    const run = await engine.run(definition);
    await clock.advance(30 * 60_000);
    const result = await run.result;
    expect(result).toMatchObject({
      status: 'timed_out',
      error: { message: 'workflow timed out' },
      durationMs: 1_800_000,
    });
    expect(result.steps['f']?.status).toBe('completed');
    expect((await engine.status(run.id)).status).toBe('timed_out');
  });

  it('of any length are kept', async () => {
    const clock = new FixedClock();
    const tools = fakeTools({ 't.slow': never });
    const run = await createEngine({ tools, clock, leaseTtlMs: 1e12 }).run(
      define('- {id: a, tool: t.slow, timeout: 2000h}', { timeout: '3000h' }),
    );
    await clock.advance(1999 * 3_600_000);
    await clock.advance(3_600_000);
    expect((await run.result).error?.message).toBe('step "a" timed out after 2000h0m0s');
  });
});

describe('cancelling', () => {
  const definition = define('- {id: a, tool: t.slow}\n- {id: b, tool: t.fast, dependsOn: [a]}');

  it('stops the run at once, though the tool does not listen', async () => {
    const gate = deferred();
    const tools = fakeTools({ 't.slow': () => gate.promise, 't.fast': () => 'x' });
    const engine = createEngine({ tools });
    const run = await engine.run(definition);
    const result = await run.cancel('no longer needed');
    expect(result).toMatchObject({
      status: 'cancelled',
      error: { code: 'ERR_WORKFLOW_DAG_CANCELLED', message: 'workflow cancelled: no longer needed' },
    });
    gate.resolve('late');
    await settle();
    expect(tools.of('t.fast')).toHaveLength(0);
    expect((await engine.status(run.id)).status).toBe('cancelled');
    expect((await run.cancel()).status).toBe('cancelled');
    await expect(engine.cancel(run.id)).rejects.toThrow(`workflow ${run.id} is already in terminal state: cancelled`);
  });

  it('works through a signal, before and after the start', async () => {
    const tools = fakeTools({ 't.slow': () => new Promise(() => undefined), 't.fast': () => 'x' });
    const engine = createEngine({ tools });
    const controller = new AbortController();
    const run = await engine.run(definition, {}, { signal: controller.signal });
    controller.abort();
    expect((await run.result).status).toBe('cancelled');
    await expect(engine.run(definition, {}, { signal: controller.signal })).rejects.toBe(controller.signal.reason);
  });

  it('works through the engine by id, and leaves no timer', async () => {
    const clock = new FixedClock();
    const tools = fakeTools({ 't.slow': () => new Promise(() => undefined), 't.fast': () => 'x' });
    const engine = createEngine({ tools, clock });
    const run = await engine.run(definition);
    expect(engine.live(run.id)).toBe(run);
    await engine.cancel(run.id, 'stop');
    expect((await run.result).error?.message).toBe('workflow cancelled: stop');
    expect(engine.live(run.id)).toBeUndefined();
    expect(clock.pending).toBe(0);
    await expect(engine.cancel('nobody')).rejects.toThrow('workflow not found: workflow nobody');
    await expect(engine.cancel('')).rejects.toThrow('workflow ID is required');
  });

  it('stops a pause between attempts', async () => {
    const clock = new FixedClock();
    const tools = fakeTools({ 't.slow': down, 't.fast': () => 'x' });
    const run = await createEngine({ tools, clock }).run(
      define('- {id: a, tool: t.slow, onError: {action: retry, retryCount: 3}}'),
    );
    await settle();
    expect((await run.cancel()).status).toBe('cancelled');
    expect(clock.pending).toBe(0);
  });

  it('happens when the engine is closed, after which it starts nothing', async () => {
    const tools = fakeTools({ 't.slow': () => new Promise(() => undefined), 't.fast': () => 'x' });
    const engine = createEngine({ tools });
    const run = await engine.run(definition);
    await engine.close();
    expect((await run.result).status).toBe('cancelled');
    await engine.close();
    await expect(engine.run(definition)).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_CLOSED' });
  });
});

describe('limits', () => {
  it('bound the steps of a definition and the runs of a principal', async () => {
    const tools = fakeTools({ 't.slow': () => new Promise(() => undefined) });
    const engine = createEngine({ tools, limits: { maxSteps: 2, maxRunsPerPrincipal: 1 } });
    const three = define('- {id: a, tool: t.slow}\n- {id: b, tool: t.slow}\n- {id: c, tool: t.slow}');
    await expect(engine.run(three)).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_LIMIT',
      message: 'too many steps: 3 (max 2)',
    });
    const one = define('- {id: a, tool: t.slow}');
    const first = await engine.run(one, {}, { principal: { subject: 'ada' } });
    await expect(engine.run(one, {}, { principal: { subject: 'ada' } })).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_LIMIT',
    });
    const other = await engine.run(one, {}, { principal: { subject: 'bob' } });
    await first.cancel();
    const second = await engine.run(one, {}, { principal: { subject: 'ada' } });
    await Promise.all([other.cancel(), second.cancel()]);
  });

  it('are checked at the door', () => {
    const tools = fakeTools({});
    expect(() => createEngine({ tools, limits: { maxParallel: -1 } })).toThrow(
      'Expected `limits.maxParallel` to be a positive integer, got `-1` (number)',
    );
    expect(() => createEngine({ tools, leaseTtlMs: 0.5 })).toThrow('Expected `leaseTtlMs` to be a positive integer');
    expect(() => createEngine({ tools, limits: { maxFoo: 1 } as never })).toThrow('got `maxFoo`');
    expect(() => createEngine({} as never)).toThrow('Expected `tools`');
  });

  it('bound what a template renders and how long it works', async () => {
    const tools = fakeTools({ 't.say': () => 'x' });
    const engine = createEngine({ tools, limits: { maxTemplateBytes: 100, maxTemplateSteps: 1000 } });
    for (const template of ['{{range $i := 1000000000}}x{{end}}', '{{range $i := 1000000000}}{{end}}']) {
      const definition = define(`- {id: a, tool: t.say, arguments: {x: ${JSON.stringify(template)}}}`);
      expect((await (await engine.run(definition)).result).error?.code).toBe('ERR_WORKFLOW_DAG_TEMPLATE');
    }
  });

  it('refuse parameters that do not fit', async () => {
    const tools = fakeTools({ 't.say': () => 'x' });
    const definition = define('- {id: a, tool: t.say}', {
      parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    });
    await expect(createEngine({ tools }).run(definition, { n: 'x' })).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_PARAMETERS',
    });
    const run = await createEngine({ tools, validateParams: false }).run(definition, { n: 'x' });
    expect((await run.result).status).toBe('completed');
  });
});

describe('events', () => {
  it('tell the whole run in order, to every reader', async () => {
    const tools = fakeTools({ 't.flaky': (_args, { attempt }) => (attempt === 1 ? down() : 'x'), 't.good': () => 'x' });
    const definition = define(`
- {id: a, tool: t.flaky, onError: {action: retry, retryCount: 1, retryDelay: 1ms}}
- {id: b, tool: t.good, dependsOn: [a], condition: "false"}
`);
    const run = await createEngine({ tools }).run(definition);
    const read = async (): Promise<WorkflowEvent[]> => {
      const all: WorkflowEvent[] = [];
      for await (const event of run.events) all.push(event);
      return all;
    };
    const [first, second] = await Promise.all([read(), read()]);
    expect(first).toEqual(second);
    expect(first.map(({ type }) => type)).toEqual([
      'run_started',
      'step_started',
      'step_retrying',
      'step_completed',
      'step_skipped',
      'run_completed',
    ]);
    expect(first.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(first[3]).toMatchObject({ stepId: 'a', retryCount: 1, finished: 1, totalSteps: 2, fromCache: false });
    expect(JSON.stringify(first)).not.toContain('undefined');
  });

  it('tell a slow reader how many it missed', async () => {
    const steps = Array.from({ length: 50 }, (_, index) => `- {id: s${index}, tool: t.good}`).join('\n');
    const run = await createEngine({ tools: fakeTools({ 't.good': () => 'x' }), limits: { maxEvents: 10 } }).run(
      define(steps),
    );
    await run.result;
    const seen: WorkflowEvent[] = [];
    for await (const event of run.events) seen.push(event);
    const [dropped] = seen;
    expect(dropped?.type).toBe('events_dropped');
    expect(dropped?.type === 'events_dropped' ? dropped.count + seen.length - 1 : 0).toBe(102);
    expect(seen.length).toBeLessThanOrEqual(21);
  });

  it('do not stop for a listener that throws', async () => {
    const errors: unknown[] = [];
    const engine = createEngine({
      tools: fakeTools({ 't.good': () => 'x' }),
      onEvent: () => {
        throw new Error('listener');
      },
      onError: (error) => errors.push(error),
    });
    expect((await (await engine.run(define('- {id: a, tool: t.good}'))).result).status).toBe('completed');
    expect(errors).toHaveLength(4);
  });
});
