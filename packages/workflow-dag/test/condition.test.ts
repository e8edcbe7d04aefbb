import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine, parseDefinition, type Engine } from '../src/index.js';

interface Vector {
  readonly rendered: string;
  readonly out?: boolean;
  readonly error?: string;
}

const path = new URL('fixtures/go-vectors.json', import.meta.url);
const { condition: vectors } = JSON.parse(readFileSync(path, 'utf8')) as { condition: readonly Vector[] };
const definition = parseDefinition({
  name: 'decide',
  description: 'Runs a step if the text says so',
  steps: [{ id: 's', tool: 't', condition: '{{.params.text}}' }],
});

let engine: Engine;
beforeAll(() => {
  engine = createEngine({ tools: { resolve: (name) => ({ name }), call: async () => ({ content: [] }) } });
});
afterAll(async () => engine.close());

describe('a condition', () => {
  it.each(vectors)('that renders $rendered decides as Go does', async ({ rendered, out, error }) => {
    const { status, steps, error: failure } = await (await engine.run(definition, { text: rendered })).result;
    if (error === undefined) {
      expect([status, steps['s']?.status]).toEqual(['completed', out === true ? 'completed' : 'skipped']);
    } else {
      expect(status).toBe('failed');
      expect(failure?.message).toContain(error);
    }
  });
});
