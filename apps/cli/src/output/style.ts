/** Colours, or the identity where colour is off. */
export interface Style {
  readonly enabled: boolean;
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

/** What decides about colour. */
export interface StyleOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTty: boolean;
  /** `--no-color` or `--format json`. */
  readonly off: boolean;
}

/**
 * Colour only on a terminal, and never with `NO_COLOR`, `CI`, `TERM=dumb`, `--no-color` or `--format json`.
 *
 * @see https://no-color.org
 */
export function createStyle({ env, isTty, off }: StyleOptions): Style {
  const enabled = isTty && !off && !isSet(env['NO_COLOR']) && !isSet(env['CI']) && env['TERM'] !== 'dumb';
  const paint = (open: number, close: number) => (text: string) =>
    enabled ? `\u001b[${open}m${text}\u001b[${close}m` : text;
  return {
    enabled,
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false';
}
