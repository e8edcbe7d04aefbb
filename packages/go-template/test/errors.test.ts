import { GoTemplateError, parseTemplate } from '@thv/go-template';
import { describe, expect, it } from 'vitest';
import { errorOf, render } from './support/render.js';

describe('errors', () => {
  it('of a source carry its line', () => {
    const error = errorOf(() => parseTemplate('a\nb{{.x', { name: 'greeting' }));
    expect(error).toMatchObject({
      name: 'GoTemplateError',
      code: 'ERR_GO_TEMPLATE_PARSE',
      message: 'template: greeting:2: unclosed action',
      line: 2,
      column: undefined,
      details: { template: 'greeting', problem: 'unclosed action' },
    });
  });

  it('of an execution carry line and column', () => {
    const error = errorOf(() => render('a\né{{ .x.y }}', { x: 1 }));
    expect(error).toMatchObject({
      code: 'ERR_GO_TEMPLATE_EXEC',
      line: 2,
      column: 7,
      details: { template: 'expand', node: '.x.y', problem: "can't evaluate field y in type interface {}" },
    });
  });

  it('are known across copies of the package', () => {
    const error = errorOf(() => parseTemplate('{{'));
    expect(error).toBeInstanceOf(Error);
    expect(GoTemplateError.is(error)).toBe(true);
    expect(
      GoTemplateError.is(Object.assign(new Error('x'), { name: 'GoTemplateError', code: 'ERR_GO_TEMPLATE_EXEC' })),
    ).toBe(true);
    expect(GoTemplateError.is(new Error('x'))).toBe(false);
    expect(GoTemplateError.is('ERR_GO_TEMPLATE_EXEC')).toBe(false);
  });

  it.each([
    ['source', [5], 'Expected `source` to be a string, got `5` (number)'],
    ['source', [undefined], 'Expected `source` to be a string, got `undefined` (undefined)'],
    ['name', ['x', { name: 5 }], 'Expected `name` to be a string, got `5` (number)'],
    ['functions', ['x', { functions: 'f' }], 'Expected `functions` to be an object, got `f` (string)'],
  ])('say which argument is wrong: %s', (_name, args, message) => {
    const error = errorOf(() => parseTemplate(...(args as unknown as Parameters<typeof parseTemplate>)));
    expect(error.code).toBe('ERR_GO_TEMPLATE_ARGUMENT');
    expect(error.message).toBe(message);
  });

  it('show a name with quotes and percent signs as it is', () => {
    const template = parseTemplate('{{.x.y}}', { name: '100% "x"' });
    expect(errorOf(() => template.execute({ x: 1 })).message).toBe(
      'template: 100% "x":1:4: executing "100% \\"x\\"" at <.x.y>: can\'t evaluate field y in type interface {}',
    );
  });
});
