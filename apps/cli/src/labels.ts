import { CliError } from './errors.js';

/** Reads `key=value` labels. */
export function parseLabels(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
      throw new CliError('ERR_CLI_USAGE', `Expected a label as key=value, got "${text}"`, { hint: '--label team=web' });
    }),
  );
}
