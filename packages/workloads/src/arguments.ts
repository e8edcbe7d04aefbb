import { WorkloadsError } from './errors.js';

/**
 * Refuses an option that is no whole number of at least `minimum`; `undefined` stands for the default and passes.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_ARGUMENT`
 */
export function checkInteger(name: string, value: unknown, minimum: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && Number(value) >= minimum)) return;
  const kind = minimum === 0 ? 'a whole number' : 'a positive integer';
  throw new WorkloadsError(
    'ERR_WORKLOADS_ARGUMENT',
    `Expected \`${name}\` to be ${kind}, got \`${String(value)}\` (${typeof value})`,
    { details: { option: name, hint: `pass ${kind}, or leave it out` } },
  );
}
