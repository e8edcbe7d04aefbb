import { describe, expect, it } from 'vitest';
import { missingCapabilities, missingCapabilityError, missingForAll, requiredCapabilities } from '@thv/mrtr';
import type { ClientCapabilities, InputRequest } from '@thv/mrtr';

const form: InputRequest = { method: 'elicitation/create', params: {} };
const url: InputRequest = { method: 'elicitation/create', params: { mode: 'url' } };
const sampling: InputRequest = { method: 'sampling/createMessage', params: {} };
const tools: InputRequest = { method: 'sampling/createMessage', params: { tools: [] } };
const roots: InputRequest = { method: 'roots/list' };

describe('capabilities', () => {
  it.each<[string, InputRequest, ClientCapabilities | undefined, ClientCapabilities | undefined]>([
    ['a form without capabilities', form, undefined, { elicitation: { form: {} } }],
    ['M25 a form with a bare elicitation', form, { elicitation: {} }, undefined],
    ['M26 a form with url alone', form, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['a url with a bare elicitation', url, { elicitation: {} }, { elicitation: { url: {} } }],
    ['M28 tools without sampling.tools', tools, { sampling: {} }, { sampling: { tools: {} } }],
    ['M28 tools with sampling.tools', tools, { sampling: { tools: {} } }, undefined],
    ['sampling without capabilities', sampling, {}, { sampling: {} }],
    ['roots without capabilities', roots, {}, { roots: {} }],
  ])('%s', (_title, request, declared, missing) => {
    expect(missingCapabilities(requiredCapabilities(request), declared)).toEqual(missing);
  });

  it('adds up what a mixed map lacks, and names it in the error', () => {
    const missing = missingForAll({ a: form, b: url, c: tools }, { elicitation: { form: {} } });
    expect(missing).toEqual({ elicitation: { url: {} }, sampling: { tools: {} } });
    expect(missingCapabilityError(missing ?? {})).toMatchObject({
      code: -32021,
      message: 'The client must declare: elicitation.url, sampling.tools',
      data: { requiredCapabilities: missing },
    });
  });
});
