import { dirname, resolve } from 'node:path';
import { closest } from '../../suggest.js';
import type { Backends, Servers } from '@thv/vmcp';
import { openBackends, parseServers, VmcpError } from '@thv/vmcp';
import { parseToolReference } from '@thv/workflow-dag';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { version } from '../../version.js';
import { openManager } from '../../workloads.js';
import { readText } from './load.js';

/** Where the tools of a workflow come from. */
export interface ToolSource {
  /** A servers file; without it, the running servers of this program. */
  readonly servers?: string;
  readonly group?: string;
}

/** Connects to the servers that the references need, and refuses references that lead nowhere. */
export async function openTools(
  references: readonly string[],
  source: ToolSource,
  context: CliContext,
): Promise<Backends> {
  if (source.servers !== undefined && source.group !== undefined) {
    throw new CliError('ERR_CLI_USAGE', '--servers and --group exclude each other', { hint: 'give one of the two' });
  }
  const workloads = references.map((reference) => parseToolReference(reference)?.workload);
  // A plain name may be a tool of any server.
  const needed = workloads.includes(undefined) ? undefined : new Set(workloads as string[]);
  const servers =
    source.servers === undefined
      ? await runningServers(source, context)
      : await readServers(source.servers, needed, context);
  refuseUnknownServers(needed ?? new Set(), servers, source);
  const folder = source.servers === undefined ? context.cwd : dirname(resolve(context.cwd, source.servers));
  const backends = await openBackends(servers, {
    ...(needed === undefined ? {} : { only: needed }),
    folder,
    env: childEnvironment(context),
    client: { name: 'thv', version },
    signal: context.signal,
  });
  try {
    refuseUnknownTools(references, backends);
    return backends;
  } catch (error) {
    await backends.close();
    throw error;
  }
}

async function readServers(path: string, only: ReadonlySet<string> | undefined, context: CliContext): Promise<Servers> {
  const text = await readText(path, context);
  try {
    return parseServers(text, { env: context.env, ...(only === undefined ? {} : { only }) });
  } catch (error) {
    if (!VmcpError.is(error)) throw error;
    const line = error.details['line'];
    throw new CliError('ERR_CLI_CONFIG', `${path}: ${error.message}`, {
      file: path,
      ...(typeof line === 'number' ? { line } : {}),
      hint: 'thv schema servers',
      cause: error,
    });
  }
}

async function runningServers({ group }: ToolSource, context: CliContext): Promise<Servers> {
  const manager = openManager(context);
  if (group !== undefined) await manager.groups.require(group);
  const running = await manager.list(group === undefined ? {} : { group });
  return new Map(
    running.map(({ name, url }) => {
      const address = new URL(url);
      const transport = address.pathname.endsWith('/sse') ? ('sse' as const) : ('streamable-http' as const);
      return [name, { kind: 'remote' as const, url: address, headers: {}, transport, connectTimeoutMs: 30_000 }];
    }),
  );
}

function refuseUnknownServers(needed: ReadonlySet<string>, servers: Servers, source: ToolSource): void {
  const missing = [...needed].filter((name) => !servers.has(name));
  if (missing.length === 0) return;
  const names = [...servers.keys()];
  const where = source.servers === undefined ? 'are not among the running servers' : `are not in ${source.servers}`;
  const near = missing.flatMap((name) => closest(name, names, 1));
  const hint =
    near.length > 0
      ? `did you mean ${near.map((name) => `"${name}"`).join(', ')}?`
      : source.servers === undefined
        ? `thv run --name ${missing[0] ?? 'NAME'} … starts it, or --servers FILE names it`
        : `add ${missing.join(', ')} to ${source.servers}`;
  const verb = missing.length === 1 ? where.replace(/^are/, 'is') : where;
  throw new CliError('ERR_CLI_CONFIG', `the workflow needs ${list(missing, 'server')}, which ${verb}`, { hint });
}

function refuseUnknownTools(references: readonly string[], backends: Backends): void {
  const missing = references.filter((reference) => backends.resolve(reference) === undefined);
  if (missing.length === 0) return;
  const known = backends.tools.flatMap(({ advertised, workload, original }) => [advertised, `${workload}.${original}`]);
  const reasons = missing.map((reference) => {
    const meant = backends.ambiguous(reference);
    if (meant.length > 0) return `"${reference}" is ambiguous: write ${meant.join(' or ')}`;
    const near = closest(
      reference,
      known.filter((name) => name.includes('.') === reference.includes('.')),
      1,
    );
    return `"${reference}" does not exist${near.length > 0 ? ` (did you mean "${near[0] ?? ''}"?)` : ''}`;
  });
  throw new CliError(
    'ERR_CLI_CONFIG',
    `${missing.length === 1 ? 'a tool' : `${missing.length} tools`} of the workflow cannot be called: ${reasons.join('; ')}`,
    {
      hint: `the servers have ${known
        .filter((name) => name.includes('.'))
        .slice(0, 8)
        .join(', ')}`,
    },
  );
}

function list(names: readonly string[], noun: string): string {
  return `${noun}${names.length === 1 ? '' : 's'} ${names.map((name) => `"${name}"`).join(', ')}`;
}

/** What a child process inherits: enough to find programs and their settings, and no secret. */
function childEnvironment({ env }: CliContext): Record<string, string> {
  const names = [
    'PATH',
    'HOME',
    'USER',
    'LOGNAME',
    'SHELL',
    'TERM',
    'LANG',
    'LC_ALL',
    'TMPDIR',
    'NODE_PATH',
    'SystemRoot',
    'APPDATA',
  ];
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}
