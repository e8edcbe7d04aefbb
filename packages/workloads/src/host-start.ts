import { stat } from 'node:fs/promises';
import { DispatcherError } from '@thv/dispatcher';
import { TransportError } from '@thv/transport';
import type { ConnectionDown } from '@thv/transport';
import { WorkloadsError } from './errors.js';
import { messageOf } from './json-file.js';
import type { RunConfig } from './run-config.js';

/** How a server process ended, in words: `it exited with code 3`. */
export function describeDown({ reason, exitCode, signal }: ConnectionDown): string {
  if (reason === 'stdout-closed') return 'the server closed its output';
  if (reason === 'write-failed') return 'the server stopped reading its input';
  if (signal !== undefined && signal !== null) return `the server was ended by ${signal}`;
  return exitCode === undefined || exitCode === null ? 'the server ended' : `the server exited with code ${exitCode}`;
}

/** What is known when a first start failed. */
export interface StartFailure {
  readonly error: unknown;
  readonly down: ConnectionDown | undefined;
  readonly stderrTail: readonly string[];
}

/** The one error for a server that did not start, with its last words and what to do. */
export async function startError(
  config: RunConfig,
  { error, down, stderrTail }: StartFailure,
): Promise<WorkloadsError> {
  const details = { name: config.name, stderrTail };
  if (TransportError.is(error) && error.code === 'ERR_TRANSPORT_SPAWN') return commandError(config, error);
  if (WorkloadsError.is(error)) return error;
  if (down !== undefined) {
    const early = `${describeDown(down)} before it answered`;
    return new WorkloadsError('ERR_WORKLOADS_START', early, { details, cause: error });
  }
  const text = DispatcherError.is(error)
    ? error.message.replace(/^The MCP server is not ready: /, '')
    : messageOf(error);
  const hint = 'does it speak MCP on stdin and stdout? Run it by itself and see';
  return new WorkloadsError('ERR_WORKLOADS_START', text, { details: { ...details, hint }, cause: error });
}

async function commandError(config: RunConfig, cause: TransportError): Promise<WorkloadsError> {
  const { command, name, working_dir: folder } = config;
  const isMissing = cause.details['code'] === 'ENOENT';
  // The system says ENOENT for both.
  if (isMissing && folder !== undefined && !(await isFolder(folder))) {
    const text = `the folder ${folder}, in which the server is to run, does not exist`;
    const hint = `create it, or thv rm ${name} and run it from another folder`;
    return new WorkloadsError('ERR_WORKLOADS_COMMAND', text, { details: { name, hint }, cause });
  }
  const text = isMissing
    ? `"${command}" was not found in PATH (the server inherits PATH, HOME, LANG and proxies only; add more with -e)`
    : cause.message;
  const hint = isMissing ? 'install it, or thv run ... -e PATH=$PATH' : `check that ${command} can be executed`;
  return new WorkloadsError('ERR_WORKLOADS_COMMAND', text, { details: { name, hint }, cause });
}

async function isFolder(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  return info?.isDirectory() === true;
}
