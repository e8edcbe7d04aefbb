import { extraFunctions, GoTemplateError, parseTemplate, type TemplateFunctions } from '@thv/go-template';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { render } from './support/render.js';

const MAX_BYTES = 5000;
const MAX_STEPS = 3000;

const names = ['a', 'b', 'list', 'missing', 'text', '__proto__'];
const words =
  'print printf println len index slice eq ne lt le gt ge and or not html js urlquery call json fromJson quote tick'.split(
    ' ',
  );

/** Expressions, most of them valid, with all that a template may be made of. */
const { pipeline } = fc.letrec<{ pipeline: string; command: string; operand: string }>((tie) => ({
  operand: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('.', '$', '$x', '$y', 'true', 'false', 'nil', '1', '-3', '2.5', '1e9', "'a'", '0x1p-2', '1i'),
    fc.constantFrom(...names).map((name) => `.${name}`),
    fc.array(fc.constantFrom(...names), { minLength: 2, maxLength: 4 }).map((path) => `.${path.join('.')}`),
    fc.string({ unit: 'grapheme', maxLength: 6 }).map((text) => JSON.stringify(text)),
    fc.constantFrom('"%v %d"', '"%9999d"', '"%*x"', '`%q`', String.raw`"\xff\u00e9"`, '"%[2]v"', '"%.99f"'),
    tie('pipeline').map((text) => `(${text})`),
    tie('pipeline').map((text) => `(${text}).a`),
  ),
  command: fc.oneof(
    { maxDepth: 4 },
    tie('operand'),
    fc
      .tuple(fc.constantFrom(...words), fc.array(tie('operand'), { maxLength: 3 }))
      .map(([word, args]) => [word, ...args].join(' ')),
  ),
  pipeline: fc.array(tie('command'), { minLength: 1, maxLength: 3 }).map((commands) => commands.join(' | ')),
}));

const { list } = fc.letrec<{ list: string; statement: string }>((tie) => ({
  statement: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom('text', ' ', '\r\n', '{{- 1 -}}', '{{/* c */}}', '{{break}}', '{{continue}}', '{{template "t" .}}'),
    pipeline.map((pipe) => `{{${pipe}}}`),
    pipeline.map((pipe) => `{{$x := ${pipe}}}`),
    pipeline.map((pipe) => `{{$x = ${pipe}}}`),
    fc
      .tuple(
        fc.constantFrom('if', 'with', 'range', 'range $x :=', 'range $y, $x :=', 'with $y :='),
        pipeline,
        tie('list'),
        tie('list'),
      )
      .map(([control, pipe, body, other]) => `{{${control} ${pipe}}}${body}{{else}}${other}{{end}}`),
    tie('list').map((body) => `{{range 1000000000}}${body}{{end}}`),
    tie('list').map((body) => `{{define "t"}}${body}{{end}}`),
    fc.tuple(pipeline, tie('list')).map(([pipe, body]) => `{{block "b" ${pipe}}}${body}{{end}}`),
  ),
  list: fc.array(tie('statement'), { maxLength: 5 }).map((statements) => statements.join('')),
}));

/** Pieces of templates in any order: mostly mistakes. */
const rubble = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '{{',
        '}}',
        '{{-',
        '-}}',
        ' ',
        '\n',
        '(',
        ')',
        '|',
        '.',
        '$',
        ':=',
        '=',
        ',',
        '"',
        '`',
        "'",
        '\\',
        '/*',
        '*/',
      ),
      fc.constantFrom(
        'if',
        'else',
        'end',
        'range',
        'with',
        'define',
        'block',
        'template',
        'nil',
        'true',
        '.a',
        '$x',
        '1',
        'é',
        '\ud800',
      ),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
    { maxLength: 30 },
  )
  .map((pieces) => pieces.join(''));

/** Renders or fails as it should; anything else is thrown on. */
function attempt(source: string, data: unknown): void {
  let ticks = 0;
  const functions = {
    ...extraFunctions,
    tick: { parameters: [], variadic: 'any', call: () => (ticks += 1) },
  } satisfies TemplateFunctions;
  try {
    const output = parseTemplate(source, { name: 'expand', functions }).execute(data, {
      maxOutputBytes: MAX_BYTES,
      maxSteps: MAX_STEPS,
    });
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(MAX_BYTES);
    expect(output).not.toMatch(/\p{Surrogate}/u);
  } catch (error) {
    if (!GoTemplateError.is(error)) throw error;
    expect(error.code).not.toBe('ERR_GO_TEMPLATE_ARGUMENT');
    expect(error.message).not.toMatch(/\p{Surrogate}/u);
  }
  expect(ticks).toBeLessThanOrEqual(MAX_STEPS);
}

const data = fc.record({
  a: fc.jsonValue(),
  b: fc.jsonValue(),
  list: fc.array(fc.jsonValue()),
  text: fc.string({ unit: 'binary' }),
});

describe('any template', () => {
  it('renders within its budget or fails with an error of this package', () => {
    fc.assert(
      fc.property(
        fc.tuple(fc.constant('{{$x := .a}}{{$y := 1}}'), list).map((parts) => parts.join('')),
        data,
        attempt,
      ),
      { numRuns: 500 },
    );
  });

  it('that is rubble fails with an error of this package', () => {
    fc.assert(fc.property(rubble, data, attempt), { numRuns: 1000 });
  });

  it('cut anywhere fails with an error of this package', () => {
    fc.assert(
      fc.property(list, fc.nat(), data, (source, at, value) =>
        attempt(source.slice(0, at % (source.length + 1)), value),
      ),
      { numRuns: 300 },
    );
  });

  it('without an action is its own output', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        fc.pre(!text.includes('{{'));
        expect(render(text)).toBe(text);
      }),
    );
  });

  it('gives the same for a Map as for an object', () => {
    fc.assert(
      fc.property(list, fc.dictionary(fc.constantFrom(...names), fc.jsonValue()), (source, object) => {
        const outcome = (value: unknown): string => {
          try {
            return render(source.replaceAll('tick', 'print'), value, {
              maxSteps: MAX_STEPS,
              maxOutputBytes: MAX_BYTES,
            });
          } catch (error) {
            return String(error);
          }
        };
        expect(outcome(new Map(Object.entries(object)))).toBe(outcome(object));
      }),
      { numRuns: 200 },
    );
  });
});

/** JSON has no negative zero that JavaScript would write. */
const storable = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)));

describe('what is printed', () => {
  it('is read back by the grammar of strings', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const expected = render('{{.}}', text);
        expect(render(`{{${render('{{quote .}}', text)}}}`)).toBe(expected);
        expect(render(`{{${render('{{printf "%+q" .}}', text)}}}`)).toBe(expected);
        expect(render(`{{${render('{{printf "%#q" .}}', text)}}}`)).toBe(expected);
      }),
    );
  });

  it('is read back by the grammar of floats', () => {
    const value = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(value, (number) => {
        for (const verb of ['%v', '%e', '%g', '%x', '%.17g', '%.17e', '%.20e']) {
          const text = render(`{{printf "${verb === '%e' ? '%.16e' : verb}" .}}`, number);
          expect(Number(/^-?0x/.test(text) ? render(`{{printf "%.17g" ${text}}}`) : text)).toBe(number);
        }
        expect(Number(render('{{json .}}', number))).toBe(number);
      }),
    );
  });

  it('is read back by the grammar of integers', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (number) => {
        // Go takes a signed hexadecimal number with an `e` among its digits for a float.
        const verbs = number < 0n ? ['%d', '%#o', '%#b', '%O'] : ['%d', '%#o', '%#b', '%O', '%#x', '%#X'];
        for (const verb of verbs) {
          expect(render(`{{${render(`{{printf "${verb}" .}}`, number)}}}`)).toBe(String(number));
        }
      }),
    );
  });

  it('is rounded as an exact calculation rounds it', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.integer({ min: 0, max: 6 }), (scaled, places) => {
        // Thirty-seconds are exact in binary, and so are their halves.
        const exact = (BigInt(scaled) * 10n ** BigInt(places) * 2n) / 32n;
        const text = render(`{{printf "%.${places}f" .}}`, scaled / 32);
        const digits = BigInt(text.replace('.', ''));
        const twice = exact - digits * 2n;
        expect(twice >= -1n && twice <= 1n).toBe(true);
      }),
    );
  });

  it('as JSON is what JSON.parse reads', () => {
    fc.assert(
      fc.property(storable, (value) => {
        const text = render('{{json .}}', value);
        expect(JSON.parse(text)).toEqual(value);
        expect(render('{{json (fromJson .)}}', text)).toBe(text);
        expect(render('{{fromJson . | json}}', JSON.stringify(value))).toBe(text);
      }),
    );
  });

  it('by fromJson is refused where JSON.parse refuses it, and only there', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json(), rubble), fc.nat(), (text, at) => {
        const cut = text.slice(0, at % (text.length + 1));
        for (const source of [text, cut]) {
          let parsed = true;
          try {
            JSON.parse(source);
          } catch {
            parsed = false;
          }
          const read = (): string => render('{{$x := fromJson .}}', source);
          if (parsed) expect(read()).toBe('');
          else expect(read).toThrow('failed to unmarshal JSON');
        }
      }),
      { numRuns: 1000 },
    );
  });
});
