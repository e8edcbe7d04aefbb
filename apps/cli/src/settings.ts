import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isolations, writeText } from '@thv/workloads';
import type { Document } from 'yaml';
import type { CliContext } from './context.js';
import { durationText } from './duration-option.js';
import { CliError } from './errors.js';
import { didYouMean } from './suggest.js';
import { pathsOf } from './workloads.js';

/** One thing that a user may set for good. */
interface SettingDefinition {
  /** What holds when nobody says anything. */
  readonly fallback: string;
  readonly summary: string;
  /** An environment variable that wins over the file. */
  readonly variable?: string;
  /** Throws when the value cannot be used. */
  readonly check: (value: string) => void;
}

const oneOf =
  (...words: readonly string[]) =>
  (value: string): void => {
    if (!words.includes(value)) throw new Error(`expected one of ${words.join(', ')}${didYouMean(value, words)}`);
  };
const notEmpty = (value: string): void => {
  if (value.trim() === '') throw new Error('expected a value');
};

/** Every key of the configuration file that this program reads; others in it are left alone. */
export const settingDefinitions = {
  'default-group': { fallback: 'default', summary: 'Group of new servers', check: notEmpty },
  'default-host': { fallback: '127.0.0.1', summary: 'Host that new servers listen on', check: notEmpty },
  'default-isolation': { fallback: 'shared', summary: 'How new servers are shared', check: oneOf(...isolations) },
  'default-session-ttl': { fallback: '2h', summary: 'How long an idle client session lives', check: durationText },
  'request-timeout': {
    fallback: '60s',
    summary: 'How long a request to a server may take',
    variable: 'TOOLHIVE_PROXY_REQUEST_TIMEOUT',
    check: durationText,
  },
} as const satisfies Readonly<Record<string, SettingDefinition>>;

export type SettingKey = keyof typeof settingDefinitions;

export const settingKeys = Object.keys(settingDefinitions) as readonly SettingKey[];

/** Where a value comes from; a flag of a command wins over all of these. */
export type SettingOrigin = 'default' | 'file' | 'environment';

export interface Setting {
  readonly key: SettingKey;
  readonly value: string;
  readonly origin: SettingOrigin;
}

export function settingsPath(context: CliContext): string {
  return join(pathsOf(context).config, 'config.yaml');
}

/** Checks that a word is a key. */
export function parseKey(text: string): SettingKey {
  const key = settingKeys.find((each) => each === text);
  if (key !== undefined) return key;
  throw new CliError('ERR_CLI_CONFIG', `unknown key "${text}"${didYouMean(text, settingKeys)}`, {
    hint: 'thv config list',
  });
}

/** All settings as they hold now: environment, file, default, in this order. */
export async function readSettings(context: CliContext): Promise<ReadonlyMap<SettingKey, Setting>> {
  const document = await readDocument(context);
  const settings = new Map<SettingKey, Setting>();
  for (const key of settingKeys) settings.set(key, settingOf(key, document, context));
  return settings;
}

function settingOf(key: SettingKey, document: Document | undefined, context: CliContext): Setting {
  const { fallback, variable }: SettingDefinition = settingDefinitions[key];
  const fromEnvironment = variable === undefined ? undefined : context.env[variable];
  if (fromEnvironment !== undefined && fromEnvironment !== '') {
    return { key, value: fromEnvironment, origin: 'environment' };
  }
  const value = document?.get(key);
  if (value === undefined || value === null) return { key, value: fallback, origin: 'default' };
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  checkValue(key, text, context);
  return { key, value: text, origin: 'file' };
}

function checkValue(key: SettingKey, value: string, context?: CliContext): void {
  try {
    settingDefinitions[key].check(value);
  } catch (cause) {
    const place = context === undefined ? '' : `${settingsPath(context)}: `;
    const why = (cause as Error).message.replace(/\.$/, '');
    throw new CliError('ERR_CLI_CONFIG', `${place}"${value}" is no value for ${key}: ${why}`, {
      hint: context === undefined ? `thv config get ${key} shows the value now` : `thv config unset ${key}`,
      ...(context === undefined ? {} : { file: settingsPath(context) }),
      cause,
    });
  }
}

/** Sets a key, or removes it with `undefined`; comments and other keys of the file stay. */
export async function writeSetting(key: SettingKey, value: string | undefined, context: CliContext): Promise<void> {
  if (value !== undefined) checkValue(key, value);
  const { Document } = await import('yaml');
  const document = (await readDocument(context)) ?? new Document({});
  if (value === undefined) document.delete(key);
  else document.set(key, value);
  const path = settingsPath(context);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeText(path, String(document));
}

/** The environment of a supervisor: what the file says stands where the shell says nothing. */
export async function supervisorEnvironment(context: CliContext): Promise<CliContext['env']> {
  const { variable } = settingDefinitions['request-timeout'];
  const { value, origin } = (await readSettings(context)).get('request-timeout') ?? { value: '', origin: 'default' };
  return origin === 'file' ? { ...context.env, [variable]: value } : context.env;
}

async function readDocument(context: CliContext): Promise<Document | undefined> {
  const path = settingsPath(context);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw broken(path, 1, (cause as Error).message, cause);
  }
  const { LineCounter, isMap, parseDocument } = await import('yaml');
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  const [error] = document.errors;
  if (error !== undefined) {
    throw broken(path, lineCounter.linePos(error.pos[0]).line, error.message.split('\n')[0] ?? '', error);
  }
  if (document.contents === null) return undefined;
  if (!isMap(document.contents)) throw broken(path, 1, 'expected "key: value" lines', undefined);
  return document;
}

function broken(path: string, line: number, problem: string, cause: unknown): CliError {
  return new CliError('ERR_CLI_CONFIG', `${path}:${line}: ${problem}`, {
    file: path,
    line,
    hint: `correct line ${line} of ${path}, or remove the file`,
    cause,
  });
}
