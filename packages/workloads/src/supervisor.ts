import { join } from 'node:path';
import { checkInteger } from './arguments.js';
import type { Environment } from './environment.js';
import { WorkloadsError } from './errors.js';
import type { HostOptions, HostState, OpenHost, WorkloadHost } from './host.js';
import { messageOf } from './json-file.js';
import type { SupervisorReport } from './launch.js';
import { openLogFile } from './log-file.js';
import type { LogFile } from './log-file.js';
import { createClaims } from './claim.js';
import type { Paths } from './paths.js';
import { systemProcesses } from './process-identity.js';
import type { ProcessIdentity, ProcessTable } from './process-identity.js';
import { createRunConfigStore } from './run-config.js';
import type { RunConfig } from './run-config.js';
import { createStatusStore } from './status.js';
import type { StatusRecord, StatusStore } from './status.js';
import { urlOf } from './workload.js';

/** Options of {@link superviseWorkload}. */
export interface SuperviseOptions {
  readonly paths: Paths;
  readonly env: Environment;
  /** Aborted to stop the workload. */
  readonly signal: AbortSignal;
  /** Called once, when the server answered its handshake or could not be started. */
  readonly report?: (report: SupervisorReport) => void;
  /** Sees what the server writes to stderr, besides its log. */
  readonly onServerOutput?: (text: string) => void;
  /** Sees what happens: one event, with fields that JSON can carry. */
  readonly onEvent?: (event: string, fields: Readonly<Record<string, unknown>>) => void;
  /** @defaultValue the machine's processes */
  readonly processes?: ProcessTable;
  /** @defaultValue the real server behind the real listener */
  readonly openHost?: OpenHost;
  /** @defaultValue `300000` */
  readonly startTimeoutMs?: number;
}

/** How a supervised workload ended. */
export type SuperviseOutcome = { readonly kind: 'stopped' } | { readonly kind: 'failed'; readonly error: Error };

/**
 * Runs a workload in this process until `signal` is aborted or its server is given up: claims the name, hosts listener,
 * dispatcher and server, writes status and logs. What goes wrong is in the outcome and in the status.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_ARGUMENT` for a wrong option, and nothing else
 */
export async function superviseWorkload(name: string, options: SuperviseOptions): Promise<SuperviseOutcome> {
  const { paths, processes = systemProcesses, onEvent = () => undefined, report = () => undefined } = options;
  checkInteger('startTimeoutMs', options.startTimeoutMs, 1);
  const claims = createClaims(paths, processes);
  const self = (await processes.identify(process.pid)) ?? { pid: process.pid, startedAt: '' };
  try {
    const config = await createRunConfigStore(paths).read(name);
    const holder = await claims.take(name, self);
    if (holder !== undefined) throw alreadyRunning(name, holder);
    const log = openLogFile(join(paths.serverLogs, `${name}.log`));
    try {
      return await superviseClaimed(config, self, log, options);
    } finally {
      log.close();
      await claims.release(name, self);
    }
  } catch (cause) {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    onEvent('failed', { error: error.message });
    report(failureReport(error));
    return { kind: 'failed', error };
  }
}

async function superviseClaimed(
  config: RunConfig,
  self: ProcessIdentity,
  log: LogFile,
  options: SuperviseOptions,
): Promise<SuperviseOutcome> {
  const { paths, processes = systemProcesses, onEvent = () => undefined, report = () => undefined, signal } = options;
  const journal = await openJournal(createStatusStore(paths), config.name, self, processes);
  await journal.write({ status: 'starting', status_context: '' });
  onEvent('starting', { command: config.command || config.remote_url, port: config.port });
  const ended = new AbortController();
  let givenUp: Error | undefined;
  let host: WorkloadHost | undefined;
  try {
    // Listing and stopping need neither listener nor dispatcher: whoever supervises loads them.
    const open = options.openHost ?? (await hostFor(config));
    host = await open(config, {
      ...hostOptions(options),
      onServerOutput: (text) => {
        log.write(text);
        options.onServerOutput?.(text);
      },
      onChildren: (pids) => void journal.children(pids),
      onState: (state) => {
        onEvent(state.kind, { ...state });
        if (state.kind === 'given-up') {
          givenUp = gaveUpError(config.name, state);
          ended.abort();
        }
        void journal.state(state);
      },
    });
    await journal.write({ status: 'running', status_context: '' });
    onEvent('ready', { url: urlOf(config), port: config.port });
    report({ kind: 'ready', url: urlOf({ ...config, port: host.port }), pid: process.pid });
    await aborted(AbortSignal.any([signal, ended.signal]));
    if (givenUp === undefined) await journal.write({ status: 'stopping', status_context: '' });
    onEvent('stopping', {});
    await host.close();
  } catch (cause) {
    await host?.close();
    const error = cause instanceof Error ? cause : new Error(String(cause));
    const isStop = signal.aborted;
    await journal.end(isStop ? 'stopped' : 'error', isStop ? '' : error.message.split('\n')[0]);
    if (isStop) report(failureReport(stoppedWhileStarting(config.name)));
    if (isStop) return { kind: 'stopped' };
    throw error;
  }
  await journal.end(givenUp === undefined ? 'stopped' : 'error', givenUp?.message);
  onEvent('stopped', {});
  return givenUp === undefined ? { kind: 'stopped' } : { kind: 'failed', error: givenUp };
}

/** What stands behind the listener decides which host is loaded. */
async function hostFor(config: RunConfig): Promise<OpenHost> {
  if (config.transport !== 'stdio') return (await import('./host-http.js')).openHttpHost;
  if (config.proxy_mode === 'sse') return (await import('./host-sse.js')).openSseHost;
  return (await import('./host.js')).openHost;
}

function hostOptions(options: SuperviseOptions): Pick<HostOptions, 'env' | 'signal' | 'startTimeoutMs' | 'onEvent'> {
  return {
    env: options.env,
    signal: options.signal,
    ...(options.startTimeoutMs === undefined ? {} : { startTimeoutMs: options.startTimeoutMs }),
    ...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
  };
}

/** Writes the status file, one write after another, each on top of what is known. */
interface Journal {
  write(change: Partial<StatusRecord>): Promise<void>;
  children(pids: readonly number[]): Promise<void>;
  state(state: HostState): Promise<void>;
  /** The last word: no supervisor and no children any more. */
  end(status: 'stopped' | 'error', context: string | undefined): Promise<void>;
}

async function openJournal(
  store: StatusStore,
  name: string,
  self: ProcessIdentity,
  processes: ProcessTable,
): Promise<Journal> {
  const now = (): string => new Date().toISOString();
  const before = await store.read(name).catch(() => undefined);
  let record: StatusRecord = {
    status: 'starting',
    status_context: '',
    created_at: before?.created_at || now(),
    updated_at: now(),
    started_at: now(),
    supervisor: self,
    children: [],
    restarts: 0,
  };
  let queue: Promise<void> = Promise.resolve();
  const write = async (change: Partial<StatusRecord>): Promise<void> => {
    record = { ...record, ...change, updated_at: now() };
    const current = record;
    // A full disk must not stop a server that works.
    queue = queue.then(async () => store.write(name, current)).catch(() => undefined);
    await queue;
  };
  return {
    write,
    async children(pids) {
      const found = await Promise.all(pids.map(async (pid) => processes.identify(pid)));
      await write({ children: found.filter((identity) => identity !== undefined) });
    },
    async state(state) {
      if (state.kind === 'up') {
        await write({ status: 'running', status_context: '', restarts: state.restarts });
      } else if (state.kind === 'down') {
        await write({ status: 'unhealthy', status_context: describeDown(state) });
      }
    },
    async end(status, context) {
      const { supervisor: _, ...rest } = record;
      record = { ...rest, started_at: '', children: [], status_context: '' };
      await write({ status, status_context: context ?? '' });
    },
  };
}

function describeDown(state: Extract<HostState, { kind: 'down' }>): string {
  const wait = state.retryAfterMs === undefined ? '' : `, next start in ${Math.ceil(state.retryAfterMs / 1000)} s`;
  return `${state.reason}${wait}`;
}

function gaveUpError(name: string, state: Extract<HostState, { kind: 'given-up' }>): WorkloadsError {
  return new WorkloadsError('ERR_WORKLOADS_START', `${state.reason}; given up after ${state.restarts} restarts`, {
    details: { name, stderrTail: state.stderrTail, hint: `thv logs ${name}` },
  });
}

function alreadyRunning(name: string, holder: ProcessIdentity): WorkloadsError {
  return new WorkloadsError('ERR_WORKLOADS_ALREADY_RUNNING', `"${name}" is already running (process ${holder.pid})`, {
    details: { name, hint: `thv status ${name}` },
  });
}

function stoppedWhileStarting(name: string): WorkloadsError {
  return new WorkloadsError('ERR_WORKLOADS_START', `"${name}" was stopped while it started`, {
    details: { name, hint: `thv start ${name}` },
  });
}

function failureReport(error: Error): SupervisorReport {
  const details = WorkloadsError.is(error) ? error.details : {};
  return {
    kind: 'failed',
    code: WorkloadsError.is(error) ? error.code : 'ERR_WORKLOADS_START',
    message: messageOf(error),
    stderrTail: details.stderrTail ?? [],
    ...(details.hint === undefined ? {} : { hint: details.hint }),
  };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
