import type { Client } from '@modelcontextprotocol/client';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { version } from '../../version.js';
import { openManager, withSuggestions } from '../../workloads.js';

/** Flags that every command with a server has. */
export interface ServerFlags {
  readonly server?: string;
  readonly format: 'text' | 'json';
  /** Milliseconds. */
  readonly timeout: number;
  readonly transport: 'auto' | 'sse' | 'streamable-http';
}

/** Connects to a server, hands the client out, and disconnects; everything within the timeout. */
export async function withClient<T>(
  flags: ServerFlags,
  context: CliContext,
  action: (client: Client, options: { readonly signal: AbortSignal; readonly timeout: number }) => Promise<T>,
): Promise<T> {
  const url = await resolveServer(flags.server, context);
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(flags.timeout)]);
  const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const client = new Client({ name: 'thv', version });
  const isSse = flags.transport === 'sse' || (flags.transport === 'auto' && url.pathname.endsWith('/sse'));
  const transport = isSse ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
  const options = { signal, timeout: flags.timeout };
  try {
    await connect(client, transport, options);
    return await action(client, options);
  } catch (error) {
    throw explain(error, { url, flags, context, timedOut: signal.aborted });
  } finally {
    if (transport instanceof StreamableHTTPClientTransport) {
      await transport.terminateSession().catch(() => undefined);
    }
    await client.close().catch(() => undefined);
  }
}

async function connect(
  client: Client,
  transport: Parameters<Client['connect']>[0],
  options: Parameters<Client['connect']>[1],
): Promise<void> {
  try {
    await client.connect(transport, options);
  } catch (cause) {
    if (options?.signal?.aborted === true) throw cause;
    throw new CliError('ERR_CLI_CONNECT', `failed to connect: ${reasonOf(cause)}`, { cause });
  }
}

/** The URL of a server that is named by itself or by its workload. */
async function resolveServer(server: string | undefined, context: CliContext): Promise<URL> {
  if (server === undefined || server === '') {
    throw new CliError('ERR_CLI_USAGE', 'required flag "--server" is not set', {
      hint: '--server NAME or --server URL',
    });
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(server)) return parseUrl(server);
  const manager = openManager(context);
  const workload = await withSuggestions(manager, server, async () => manager.get(server));
  if (workload.status !== 'running') {
    throw new CliError('ERR_CLI_NOT_RUNNING', `server "${server}" is not running (status: ${workload.status})`, {
      hint: `thv start ${server}`,
    });
  }
  return new URL(workload.url);
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new CliError('ERR_CLI_USAGE', `"${text}" is no http or https URL`, {
    hint: '--server http://127.0.0.1:8080/mcp',
  });
}

interface Situation {
  readonly url: URL;
  readonly flags: ServerFlags;
  readonly context: CliContext;
  readonly timedOut: boolean;
}

function explain(error: unknown, { url, flags, context, timedOut }: Situation): unknown {
  if (context.signal.aborted) return context.signal.reason;
  const name = flags.server ?? '';
  const isName = !name.includes('://');
  if (timedOut) {
    const message = `"${name}" did not answer within ${flags.timeout / 1000} s`;
    return new CliError('ERR_CLI_CONNECT', message, {
      hint: 'a longer --timeout, for example --timeout 2m',
      cause: error,
    });
  }
  if (CliError.is(error) && error.code === 'ERR_CLI_CONNECT') {
    const hint = isName ? `thv logs ${name}` : 'check the URL, and that the server runs';
    return new CliError('ERR_CLI_CONNECT', `"${name}" (${url.href}): ${error.message}`, { hint, cause: error });
  }
  if (CliError.is(error)) return error;
  return new CliError('ERR_CLI_SERVER', `"${name}" answered with an error: ${reasonOf(error)}`, {
    hint: isName ? `thv logs ${name}` : `thv mcp list tools --server ${name}`,
    cause: error,
  });
}

/** The innermost reason: `fetch failed` says nothing, its cause does. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}
