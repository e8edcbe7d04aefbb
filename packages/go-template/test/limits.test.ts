import { parseTemplate, type ExecuteOptions, type GoTemplateErrorCode } from '@thv/go-template';
import { describe, expect, it } from 'vitest';
import { errorOf, render } from './support/render.js';

function codeOf(source: string, data?: unknown, options?: ExecuteOptions): GoTemplateErrorCode {
  return errorOf(() => render(source, data, options)).code;
}

describe('the limit of output', () => {
  it('lets through exactly as many bytes as it says', () => {
    expect(render('aé🎉', undefined, { maxOutputBytes: 7 })).toBe('aé🎉');
    const error = errorOf(() => render('aé🎉', undefined, { maxOutputBytes: 6 }));
    expect(error.code).toBe('ERR_GO_TEMPLATE_OUTPUT');
    expect(error.message).toBe('template output too large: 7 bytes or more (max 6); raise `maxOutputBytes`');
  });

  it('names the place where the output grew too large', () => {
    const error = errorOf(() => render('ab\n{{.x}}', { x: 'cccc' }, { maxOutputBytes: 5 }));
    expect(error.message).toContain(' at expand:2:2; ');
  });

  it.each([
    ['many writes', '{{range 100000}}0123456789{{end}}'],
    ['a text that doubles', '{{$x := "ab"}}{{range 60}}{{$x = print $x $x}}{{end}}'],
    ['a width', '{{printf "%100000d" 1}}'],
    ['a width from an argument', '{{printf "%*d" 100000 1}}'],
    ['a precision of an integer', '{{printf "%.100000d" 1}}'],
    ['a precision of a float', '{{printf "%.100000f" 1.5}}'],
    ['a precision of a code point', '{{printf "%.100000U" 65}}'],
    ['zeros', '{{printf "%0100000d" 1}}'],
    ['hexadecimal', '{{printf "%x" .}}'],
    ['quotes', '{{printf "%q" .}}'],
    ['escapes', '{{js .}}'],
    ['a text never printed', '{{$x := printf "%100000d" 1}}'],
    ['println', '{{println . .}}'],
    ['json', '{{json .}}'],
    ['quote', '{{quote .}}'],
  ])('stops %s while it is made', (_what, source) => {
    expect(codeOf(source, '"'.repeat(600), { maxOutputBytes: 1000 })).toBe('ERR_GO_TEMPLATE_OUTPUT');
  });

  it('refuses a width that no integer of Go holds in the same words as Go', () => {
    expect(render('{{printf "%1000000000d" 1}}')).toBe('%!(NOVERB)%!(EXTRA int=1)');
  });

  it('stops a value that refers to itself over and over', () => {
    let value: unknown = 'x';
    for (let i = 0; i < 100; i += 1) value = [value, value];
    expect(codeOf('{{.}}', value, { maxOutputBytes: 10_000 })).toBe('ERR_GO_TEMPLATE_OUTPUT');
    expect(codeOf('{{json .}}', value, { maxOutputBytes: 10_000 })).toBe('ERR_GO_TEMPLATE_OUTPUT');
  });
});

describe('the limit of steps', () => {
  it.each([
    ['a huge range', '{{range 9223372036854775807}}{{end}}'],
    ['ranges in ranges', '{{range 1000000}}{{range 1000000}}{{end}}{{end}}'],
    ['a range that continues', '{{range 9223372036854775807}}{{continue}}{{end}}'],
    [
      'templates that call each other twice',
      '{{define "t"}}{{if lt (len .) 99}}{{template "t" (print . "x")}}{{template "t" (print . "x")}}{{end}}{{end}}{{template "t" ""}}',
    ],
    ['long texts read again and again', '{{range 1000000}}{{$n := len $}}{{end}}'],
    ['long texts compared again and again', '{{range 1000000}}{{$n := eq $ $}}{{end}}'],
    ['long texts made again and again', '{{range 1000000}}{{$n := printf "%9999d" 1}}{{end}}'],
    ['long texts indexed again and again', '{{range 1000000}}{{$n := index $ 1}}{{end}}'],
  ])('stops %s', (_what, source) => {
    const error = errorOf(() => render(source, 'x'.repeat(100_000), { maxSteps: 10_000 }));
    expect(error.code).toBe('ERR_GO_TEMPLATE_STEPS');
    expect(error.message).toMatch(
      /^template stopped after 10000 steps at expand:1:\d+; simplify it or raise `maxSteps`$/,
    );
  });

  it('counts the keys of maps that are sorted only to be left', () => {
    const map = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, index]));
    expect(codeOf('{{range 1000000}}{{range $}}{{break}}{{end}}{{end}}', map, { maxSteps: 20_000 })).toBe(
      'ERR_GO_TEMPLATE_STEPS',
    );
  });

  it('lets a template run that just fits', () => {
    const source = '{{range 100}}x{{end}}';
    expect(codeOf(source, undefined, { maxSteps: 150 })).toBe('ERR_GO_TEMPLATE_STEPS');
    expect(render(source, undefined, { maxSteps: 201 })).toBe('x'.repeat(100));
  });

  it('starts anew with every execution', () => {
    const template = parseTemplate('{{range 100}}x{{end}}');
    for (let i = 0; i < 5; i += 1) expect(template.execute(null, { maxSteps: 201 })).toHaveLength(100);
  });
});

describe('cancellation', () => {
  it('throws the reason of a signal that is aborted already', () => {
    const reason = new Error('enough');
    expect(() => render('x', null, { signal: AbortSignal.abort(reason) })).toThrow(reason);
  });

  it('is noticed in the middle of a loop', () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const template = parseTemplate('{{range 1000000}}{{stop .}}{{end}}', {
      functions: {
        stop: {
          parameters: ['any'],
          call: ([turn]) => {
            if (turn === 10n) controller.abort(reason);
            return '';
          },
        },
      },
    });
    let thrown: unknown;
    try {
      template.execute(null, { signal: controller.signal });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBe(reason);
  });
});

describe('options', () => {
  it.each([
    ['maxSteps', 0],
    ['maxSteps', -1],
    ['maxSteps', 1.5],
    ['maxOutputBytes', Number.NaN],
    ['maxOutputBytes', Number.POSITIVE_INFINITY],
  ])('refuse %s of %s', (name, value) => {
    const error = errorOf(() => render('x', null, { [name]: value }));
    expect(error.code).toBe('ERR_GO_TEMPLATE_ARGUMENT');
    expect(error.message).toBe(`Expected \`${name}\` to be a positive integer, got \`${value}\` (number)`);
  });
});
