import { WorkloadsError } from './errors.js';
import type { WorkloadsErrorCode } from './errors.js';
import { messageOf } from './json-file.js';
import type { Launched, Launcher, SupervisorReport } from './launch.js';
import { tailLog } from './log-reader.js';
import type { RunConfig } from './run-config.js';

/** What {@link startWorkload} needs. */
export interface StartWorkloadOptions {
  readonly config: RunConfig;
  readonly launch: Launcher;
  readonly logPath: string;
  readonly serverLogPath: string;
  readonly signal: AbortSignal | undefined;
  /** Ends whatever was started. */
  readonly stop: () => Promise<unknown>;
}

/** Lines of stderr that an error message shows. */
const shownLines = 10;

/** Launches the supervisor of a workload and waits for its word. */
export async function startWorkload(options: StartWorkloadOptions): Promise<void> {
  const { config, launch, logPath, signal, stop } = options;
  let launched: Launched;
  try {
    launched = await launch(config.name, { logPath });
  } catch (cause) {
    throw new WorkloadsError('ERR_WORKLOADS_START', `"${config.name}" could not be started: ${messageOf(cause)}`, {
      details: { name: config.name },
      cause,
    });
  }
  const report = await withAbort(launched, signal, stop);
  if (report?.kind === 'ready') return;
  if (report === undefined) {
    const lines = await tailLog(logPath, shownLines);
    throw failure(config.name, { message: 'its supervising process ended without a word', stderrTail: lines });
  }
  const tail = report.stderrTail.length > 0 ? report.stderrTail : await tailLog(options.serverLogPath, shownLines);
  throw failure(config.name, { ...report, stderrTail: tail });
}

async function withAbort(
  launched: Launched,
  signal: AbortSignal | undefined,
  stop: () => Promise<unknown>,
): Promise<SupervisorReport | undefined> {
  if (signal === undefined) return launched.report;
  const aborted = new Promise<'aborted'>((resolve) => {
    if (signal.aborted) resolve('aborted');
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true });
  });
  const first = await Promise.race([launched.report, aborted]);
  if (first !== 'aborted') return first;
  await launched.cancel();
  await stop().catch(() => undefined);
  throw signal.reason;
}

/** What is known of a start that failed. */
interface Failed {
  readonly code?: string;
  readonly message: string;
  readonly stderrTail: readonly string[];
  readonly hint?: string;
}

const passedOn: ReadonlySet<string> = new Set<WorkloadsErrorCode>([
  'ERR_WORKLOADS_ALREADY_RUNNING',
  'ERR_WORKLOADS_COMMAND',
  'ERR_WORKLOADS_FILE',
  'ERR_WORKLOADS_NOT_FOUND',
  'ERR_WORKLOADS_PORT',
  'ERR_WORKLOADS_UNSUPPORTED',
]);

function failure(name: string, { code = '', message, stderrTail, hint }: Failed): WorkloadsError {
  const known = passedOn.has(code);
  const shown = stderrTail.slice(-shownLines);
  const said = shown.length === 0 ? '' : `\nLast lines of its stderr:\n${shown.map((line) => `  ${line}`).join('\n')}`;
  const text = known ? message : `"${name}" did not start: ${message}${said}`;
  return new WorkloadsError(known ? (code as WorkloadsErrorCode) : 'ERR_WORKLOADS_START', text, {
    details: { name, stderrTail, hint: hint ?? 'run the command by itself and see whether it starts' },
  });
}
