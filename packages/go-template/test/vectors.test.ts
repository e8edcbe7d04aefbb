import { extraFunctions, parseTemplate } from '@thv/go-template';
import { describe, expect, it } from 'vitest';
import { errorOf } from './support/render.js';
import { readVectors, typed } from './support/vectors.js';

/** Zero padding of texts: Go has printed these differently from one version to the next. */
const UNSTABLE = new Set(['printf/110', 'printf/167', 'printf/246']);

const vectors = readVectors();
const options = { name: 'expand', functions: extraFunctions };

describe('templates that were run with Go', () => {
  it('are all here', () => {
    expect(vectors).toHaveLength(997);
    expect(new Set(vectors.map(({ name }) => name)).size).toBe(997);
  });

  it.each(vectors.filter(({ name }) => !UNSTABLE.has(name)))('$name', (vector) => {
    const data = vector.typed === true ? typed(vector.data) : vector.data;
    if (vector.error === undefined) {
      expect(parseTemplate(vector.template, options).execute(data)).toBe(vector.output);
      return;
    }
    const action =
      vector.stage === 'parse'
        ? () => parseTemplate(vector.template, options)
        : (
            (template) => () =>
              template.execute(data)
          )(parseTemplate(vector.template, options));
    const error = errorOf(action);
    expect(error.message).toBe(vector.error);
    expect(error.code).toBe(vector.stage === 'parse' ? 'ERR_GO_TEMPLATE_PARSE' : 'ERR_GO_TEMPLATE_EXEC');
  });
});
