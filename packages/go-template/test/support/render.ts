import { extraFunctions, GoTemplateError, parseTemplate, type ExecuteOptions } from '@thv/go-template';

/** Renders a template named `expand`. */
export function render(source: string, data?: unknown, options?: ExecuteOptions): string {
  return parseTemplate(source, { name: 'expand', functions: extraFunctions }).execute(data, options);
}

/** The error of an action that must fail with one of this package's. */
export function errorOf(action: () => unknown): GoTemplateError {
  try {
    action();
  } catch (error) {
    if (GoTemplateError.is(error)) return error;
    throw error;
  }
  throw new Error('expected a GoTemplateError, but nothing was thrown');
}

/** The message of the error that a template ends with. */
export function failure(source: string, data?: unknown): string {
  return errorOf(() => render(source, data)).message;
}
