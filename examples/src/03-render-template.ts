// Go's text/template: whole numbers are bigint, a missing key is not null, work and output are bounded.
import assert from 'node:assert/strict';
import { GoTemplateError, extraFunctions, parseTemplate, references } from '@thv/go-template';

const template = parseTemplate(
  '{{range $i, $name := .names}}{{if $i}}, {{end}}{{$name | printf "%-5s"}}|{{end}} {{json .total}}',
  {
    name: 'greeting',
    functions: extraFunctions,
  },
);
const text = template.execute({ names: ['Ann', 'Bo'], total: 12_345_678n });
console.log(text);
assert.equal(text, 'Ann  |, Bo   | 12345678');
console.log('It reads:', references(template));

assert.throws(
  () => parseTemplate('{{.names | nosuch}}', { name: 'broken' }),
  (error) => GoTemplateError.is(error),
);
assert.throws(() =>
  parseTemplate('{{range $i := .}}x{{end}}', { name: 'long' }).execute(1_000_000_000n, { maxSteps: 1_000 }),
);
