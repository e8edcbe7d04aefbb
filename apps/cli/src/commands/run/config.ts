import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  freeName,
  parseEnvAssignment,
  parseEnvFile,
  parsePackageSpec,
  parseRunConfig,
  schemaVersion,
  suggestName,
} from '@thv/workloads';
import type { RunConfig } from '@thv/workloads';
import type { Command } from 'commander';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { readInput } from '../../prompt.js';
import { readSettings } from '../../settings.js';
import type { SettingKey } from '../../settings.js';
import { parseLabels } from '../../labels.js';
import type { RunFlags } from './run.js';

const maxConfigBytes = 4 * 1024 * 1024;

/** Builds the configuration from the command line; the name is chosen among those that are free. */
export async function configFromFlags(
  server: string | undefined,
  flags: RunFlags,
  taken: ReadonlySet<string>,
  context: CliContext,
): Promise<RunConfig> {
  const what = readCommand(server, context.rest);
  const settings = await readSettings(context);
  const setting = (key: SettingKey): string => settings.get(key)?.value ?? '';
  const ttl = settings.get('default-session-ttl');
  const sessionTtl = flags.sessionTtl ?? (ttl?.origin === 'default' ? undefined : ttl?.value);
  const name = flags.name ?? freeName(nameFor(what), taken);
  const transport = transportOf(what, flags);
  return {
    schema_version: schemaVersion,
    name,
    image: what.image,
    command: what.command,
    cmd_args: what.args,
    ...(what.remoteUrl === undefined ? { working_dir: context.cwd } : {}),
    transport,
    proxy_mode: transport === 'stdio' ? flags.proxyMode : transport,
    host: flags.host ?? setting('default-host'),
    port: flags.proxyPort ?? 0,
    group: flags.group ?? setting('default-group'),
    env_vars: await readEnvironment(flags, context),
    container_labels: parseLabels(flags.label ?? []),
    ...httpFields(what, transport, flags, context),
    isolation: flags.isolation ?? (setting('default-isolation') as RunConfig['isolation']),
    backend_era: flags.backendEra ?? 'auto',
    ...(flags.stateKeyFile === undefined ? {} : { state_key_file: resolve(context.cwd, flags.stateKeyFile) }),
    ...(sessionTtl === undefined ? {} : { session_ttl: sessionTtl }),
    stateless: flags.stateless === true,
    strict_protocol_validation: flags.strictProtocolValidation === true,
    allowed_origins: flags.allowedOrigins ?? [],
  };
}

interface ServerCommand {
  readonly image: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Of a server somewhere else. */
  readonly remoteUrl?: string;
}

function readCommand(server: string | undefined, rest: readonly string[] | undefined): ServerCommand {
  if (server === undefined) {
    const [command, ...args] = rest ?? [];
    if (command !== undefined && command !== '') return { image: '', command, args };
    throw new CliError('ERR_CLI_USAGE', 'there is nothing to run', {
      hint: 'thv run --name NAME -- COMMAND [ARGS...]',
    });
  }
  const spec = parsePackageSpec(server);
  if (spec !== undefined) {
    return { image: `${spec.runner}://${spec.package}`, command: spec.command, args: [...spec.args, ...(rest ?? [])] };
  }
  if (/^https?:\/\//i.test(server)) return { ...readUrl(server, rest), image: '', command: '', args: [] };
  const words = [server, ...(rest ?? [])].join(' ');
  throw new CliError(
    'ERR_CLI_UNSUPPORTED',
    `"${server}" is no command and no package: registry names and container images are not supported by this version`,
    { hint: `thv run -- ${words}, or thv run npx://PACKAGE` },
  );
}

function readUrl(text: string, rest: readonly string[] | undefined): { readonly remoteUrl: string } {
  const refuse = (problem: string, hint: string): never => {
    throw new CliError('ERR_CLI_USAGE', problem, { hint });
  };
  if (rest !== undefined) refuse('a remote server takes no command', 'leave out what stands behind --');
  if (!URL.canParse(text)) return refuse(`"${text}" is no http or https URL`, 'thv run https://mcp.example.com/mcp');
  const { username, password } = new URL(text);
  if (username !== '' || password !== '') refuse('the URL holds a user or a password', 'leave them out of the URL');
  return { remoteUrl: text };
}

const nameFor = ({ command, args, remoteUrl }: ServerCommand): string =>
  remoteUrl === undefined
    ? suggestName(command, args)
    : new URL(remoteUrl).hostname.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '');

function transportOf({ remoteUrl }: ServerCommand, { transport }: RunFlags): RunConfig['transport'] {
  if (remoteUrl === undefined) return transport ?? 'stdio';
  if (transport !== 'stdio') return transport ?? 'streamable-http';
  throw new CliError('ERR_CLI_USAGE', 'a remote server cannot speak stdio', {
    hint: '--transport streamable-http or --transport sse',
  });
}

/** What only servers that speak HTTP have; asked of another one, it is refused. */
function httpFields(
  { remoteUrl }: ServerCommand,
  transport: RunConfig['transport'],
  flags: RunFlags,
  context: CliContext,
): Partial<RunConfig> {
  const { targetPort, targetHost, endpointPrefix, trustProxyHeaders, thvCaBundle } = flags;
  const isProcess = remoteUrl === undefined && transport !== 'stdio';
  if (!isProcess && (targetPort !== undefined || targetHost !== undefined)) {
    throw new CliError('ERR_CLI_USAGE', '--target-port and --target-host are for a command that speaks HTTP', {
      hint: 'thv run --transport streamable-http --target-port 8080 -- COMMAND',
    });
  }
  return {
    ...(remoteUrl === undefined ? {} : { remote_url: remoteUrl }),
    ...(targetPort === undefined ? {} : { target_port: targetPort }),
    ...(targetHost === undefined ? {} : { target_host: targetHost }),
    ...(endpointPrefix === undefined ? {} : { endpoint_prefix: endpointPrefix }),
    ...(trustProxyHeaders === true ? { trust_proxy_headers: true } : {}),
    ...(thvCaBundle === undefined ? {} : { thv_ca_bundle: resolve(context.cwd, thvCaBundle) }),
  };
}

async function readEnvironment({ env = [], envFile }: RunFlags, context: CliContext): Promise<Record<string, string>> {
  const fromFile = envFile === undefined ? {} : await readEnvFile(resolve(context.cwd, envFile));
  const fromFlags = Object.fromEntries(env.map((text) => parseEnvAssignment(text, context.env)));
  return { ...fromFile, ...fromFlags };
}

async function readEnvFile(path: string): Promise<Record<string, string>> {
  return parseEnvFile(await readText(path, '--env-file'), path);
}

async function readText(path: string, flag: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new CliError('ERR_CLI_FILE', `${path} cannot be read: ${(cause as Error).message}`, {
      file: path,
      hint: `check the path that ${flag} names`,
      cause,
    });
  }
}

/** Flags that change a configuration that was read; any other one beside `--from-config` is refused. */
const overriding = new Set([
  'name',
  'group',
  'proxyPort',
  'fromConfig',
  'foreground',
  'format',
  'debug',
  'quiet',
  'color',
]);

/** Reads the configuration that `--from-config` names; name, group and port may be changed by flags. */
export async function configFromFile(
  server: string | undefined,
  flags: RunFlags,
  command: Command,
  taken: ReadonlySet<string>,
  context: CliContext,
): Promise<RunConfig> {
  const extra = command.options.find(
    (option) =>
      command.getOptionValueSource(option.attributeName()) === 'cli' && !overriding.has(option.attributeName()),
  );
  if (server !== undefined || context.rest !== undefined || extra !== undefined) {
    const what = extra?.long ?? 'a command';
    throw new CliError('ERR_CLI_USAGE', `${what} cannot be combined with --from-config: the file says everything`, {
      hint: 'change the file instead',
    });
  }
  const path = flags.fromConfig ?? '';
  const file = path === '-' ? 'stdin' : resolve(context.cwd, path);
  const text = path === '-' ? await readInput(context, maxConfigBytes) : await readText(file, '--from-config');
  const config = parseRunConfig(text, file, `correct ${file}, or write it anew with thv export`);
  return {
    ...config,
    working_dir: config.working_dir ?? context.cwd,
    name: flags.name ?? (config.name || freeName(suggestName(config.command, config.cmd_args), taken)),
    ...(flags.group === undefined ? {} : { group: flags.group }),
    ...(flags.proxyPort === undefined ? {} : { port: flags.proxyPort }),
  };
}
