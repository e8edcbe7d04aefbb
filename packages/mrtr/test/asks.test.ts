import { describe, expect, it } from 'vitest';
import {
  ask,
  inputRequired,
  missingCapabilities,
  missingCapabilityError,
  readAnswers,
  requiredCapabilities,
} from '../src/index.js';
import type { FormSchema, InputRequest } from '../src/index.js';

const nameForm = {
  type: 'object',
  properties: { name: { type: 'string', minLength: 2 } },
  required: ['name'],
} as const;
const sampling = { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 10 };
const refusedWith = (code: string) => expect.objectContaining({ code }) as Error;

describe('capabilities', () => {
  const form = requiredCapabilities(ask.form('Name?', nameForm).request);
  const url = requiredCapabilities(ask.url('Sign in', 'https://example.com/x').request);

  it.each([
    ['M25 a form with a bare declaration', form, { elicitation: {} }, undefined],
    ['M26 a form with addresses alone', form, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['a form with nothing', form, {}, { elicitation: { form: {} } }],
    ['an address with a bare declaration', url, { elicitation: {} }, { elicitation: { url: {} } }],
    ['an address with both', url, { elicitation: { form: {}, url: {} } }, undefined],
    ['sampling', requiredCapabilities(ask.sampling(sampling).request), { sampling: {} }, undefined],
    [
      'M28 sampling with tools',
      requiredCapabilities(ask.sampling({ ...sampling, tools: [] }).request),
      { sampling: {} },
      { sampling: { tools: {} } },
    ],
    ['folders', requiredCapabilities(ask.roots().request), {}, { roots: {} }],
    ['hostile keys', form, JSON.parse('{"__proto__":{"elicitation":{}}}') as object, { elicitation: { form: {} } }],
  ])('%s', (_, required, declared, missing) => {
    expect(missingCapabilities(required, declared)).toEqual(missing);
  });

  it('M23 are known for questions alone', () => {
    const stranger = { method: 'tools/call' } as unknown as InputRequest;
    expect(() => requiredCapabilities(stranger)).toThrow(refusedWith('ERR_MRTR_ASK'));
  });

  it('become an error that says what to declare', () => {
    expect(missingCapabilityError({ elicitation: { form: {} }, roots: {} })).toEqual({
      code: -32021,
      message: 'The client must declare: elicitation.form, roots',
      data: { requiredCapabilities: { elicitation: { form: {} }, roots: {} } },
    });
  });
});

describe('a result that asks', () => {
  it('has the questions by key and the state', () => {
    expect(inputRequired({ n: ask.form('Name?', nameForm), r: ask.roots() }, 'state')).toEqual({
      resultType: 'input_required',
      inputRequests: {
        n: { method: 'elicitation/create', params: { mode: 'form', message: 'Name?', requestedSchema: nameForm } },
        r: { method: 'roots/list' },
      },
      requestState: 'state',
    });
    expect(inputRequired({}, '')).toEqual({ resultType: 'input_required', requestState: '' });
  });

  it.each([
    ['M21 nothing', {}],
    ['hostile keys', Object.fromEntries([['constructor', ask.roots()]])],
    ['too many questions', Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ask.roots()]))],
    ['a huge question', { k: ask.form('x'.repeat(300_000), nameForm) }],
  ])('is refused with %s', (_, asks) => {
    expect(() => inputRequired(asks)).toThrow(refusedWith('ERR_MRTR_ASK'));
  });
});

describe('a question', () => {
  it.each([
    ['a secret by form', () => ask.form('?', { type: 'object', properties: { apiKey: { type: 'string' } } })],
    [
      'a field of another kind',
      () => ask.form('?', { type: 'object', properties: { a: { type: 'object' } } } as unknown as FormSchema),
    ],
    ['a required field that is none', () => ask.form('?', { type: 'object', properties: {}, required: ['a'] })],
    ['M40 an address with a token', () => ask.url('?', 'https://example.com/x?token=abc')],
    ['M40 an address with an e-mail', () => ask.url('?', 'https://example.com/x?who=ada%40example.com')],
    ['an address with a password', () => ask.url('?', 'https://a:b@example.com/')],
    ['a plain address elsewhere', () => ask.url('?', 'http://example.com/')],
    ['no address', () => ask.url('?', 'example')],
    ['sampling without a limit', () => ask.sampling({ messages: sampling.messages })],
    [
      'M41 a use of a tool without its result',
      () =>
        ask.sampling({
          maxTokens: 10,
          messages: [
            {
              role: 'assistant',
              content: [
                { type: 'tool_use', id: 'a' },
                { type: 'tool_use', id: 'b' },
              ],
            },
            { role: 'user', content: [{ type: 'tool_result', toolUseId: 'a' }] },
          ],
        }),
    ],
    [
      'results of tools beside text',
      () =>
        ask.sampling({
          maxTokens: 10,
          messages: [
            { role: 'assistant', content: [{ type: 'tool_use', id: 'a' }] },
            {
              role: 'user',
              content: [
                { type: 'tool_result', toolUseId: 'a' },
                { type: 'text', text: 'x' },
              ],
            },
          ],
        }),
    ],
  ])('is refused for %s', (_, make) => {
    expect(make).toThrow(refusedWith('ERR_MRTR_ASK'));
  });

  it('may lead to this machine without TLS', () => {
    expect(ask.url('?', 'http://localhost:8080/x').request.params).toMatchObject({ mode: 'url' });
  });
});

describe('answers', () => {
  const questions = {
    form: ask.form('?', {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 2, maxLength: 5 },
        mail: { type: 'string', format: 'email' },
        site: { type: 'string', format: 'uri' },
        day: { type: 'string', format: 'date' },
        at: { type: 'string', format: 'date-time' },
        size: { type: 'string', enum: ['s', 'm'], default: 'm' },
        count: { type: 'integer', minimum: 1, maximum: 9 },
        sure: { type: 'boolean' },
        colors: { type: 'array', items: { type: 'string', enum: ['red', 'blue'] }, minItems: 1, maxItems: 2 },
      },
      required: ['name'],
    }),
    roots: ask.roots(),
    model: ask.sampling(sampling),
    page: ask.url('?', 'https://example.com/'),
  };
  const read = (form: unknown) => readAnswers({ form }, questions)?.form;

  it('M36 are accepted, declined, cancelled or missing, each by itself', () => {
    expect(
      readAnswers(
        { form: { action: 'decline' }, page: { action: 'cancel' }, roots: { roots: [] }, stranger: {} },
        questions,
      ),
    ).toEqual({
      form: { kind: 'declined' },
      page: { kind: 'cancelled' },
      roots: { kind: 'accepted', content: { roots: [] } },
      model: { kind: 'missing' },
    });
    expect(readAnswers(undefined, questions)?.form).toEqual({ kind: 'missing' });
  });

  it('have the defaults, and nothing that was not asked', () => {
    expect(read({ action: 'accept', content: { name: 'Ada', other: 1 } })).toEqual({
      kind: 'accepted',
      content: { name: 'Ada', size: 'm' },
    });
  });

  it.each([
    [{}, ['name is required']],
    [{ name: 'A' }, ['name must have at least 2 characters']],
    [{ name: 'Adalbert' }, ['name must have at most 5 characters']],
    [{ name: 7 }, ['name must be text']],
    [{ name: 'Ada', mail: 'x' }, ['mail must be an e-mail address']],
    [{ name: 'Ada', site: 'x' }, ['site must be a URI']],
    [{ name: 'Ada', day: '2026-02-30' }, ['day must be a date']],
    [{ name: 'Ada', at: '2026-02-01' }, ['at must be a date with time']],
    [{ name: 'Ada', size: 'l' }, ['size must be one of: s, m']],
    [{ name: 'Ada', count: 1.5 }, ['count must be a whole number']],
    [{ name: 'Ada', count: 0 }, ['count must be at least 1']],
    [{ name: 'Ada', count: 10 }, ['count must be at most 9']],
    [{ name: 'Ada', sure: 'yes' }, ['sure must be true or false']],
    [{ name: 'Ada', colors: [] }, ['colors must have at least 1 items']],
    [{ name: 'Ada', colors: ['green'] }, ['colors must have items of: red, blue']],
    [[], ['the content must be an object']],
  ])('M35 that do not fit the form are invalid: %j', (content, problems) => {
    expect(read({ action: 'accept', content })).toEqual({ kind: 'invalid', problems });
  });

  it('take what fits every field', () => {
    const content = {
      name: 'Ada',
      mail: 'ada@example.com',
      site: 'https://example.com',
      day: '2026-02-28',
      at: '2026-02-28T10:00:00Z',
      size: 's',
      count: 3,
      sure: true,
      colors: ['red'],
    };
    expect(read({ action: 'accept', content })).toEqual({ kind: 'accepted', content });
  });

  it('that have the shape of another message are invalid', () => {
    expect(read({ method: 'elicitation/create', result: { action: 'accept' } })).toMatchObject({ kind: 'invalid' });
    expect(readAnswers({ model: { text: 'x' } }, questions)?.model).toMatchObject({ kind: 'invalid' });
    expect(readAnswers({ roots: {} }, questions)?.roots).toMatchObject({ kind: 'invalid' });
    expect(readAnswers({ roots: 'x' }, questions)?.roots).toMatchObject({ kind: 'invalid' });
  });

  it.each(['text', [], null, 7])('M33 that are %j are none', (responses) => {
    expect(readAnswers(responses, questions)).toBeUndefined();
  });
});
