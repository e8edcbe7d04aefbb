import { superviseWorkload } from '@thv/workloads';
import type { CliContext } from './context.js';
import { exitCodes } from './exit.js';
import { supervisorEnvironment } from './settings.js';
import { pathsOf } from './workloads.js';

/**
 * Runs a workload in this process until Ctrl-C: the URL goes to stdout, what the server writes to stderr.
 *
 * @throws what ended it, when it was not asked to end
 */
export async function runInForeground(
  name: string,
  context: CliContext,
  onReady: (url: string) => void = (url) => context.out(url),
): Promise<void> {
  const { noteStyle } = context;
  const outcome = await superviseWorkload(name, {
    paths: pathsOf(context),
    env: await supervisorEnvironment(context),
    signal: context.signal,
    onServerOutput: (text) => void (context.quiet || context.stderr.write(text)),
    onEvent: (event, fields) => {
      context.debug(event, fields);
      if (event === 'down') context.warn(noteStyle.yellow(`${name}: ${String(fields['reason'])}`));
      if (event === 'stopping') context.note(`stopping ${name}`);
    },
    report: (report) => {
      if (report.kind !== 'ready') return;
      context.note(`${noteStyle.green('✔')} ${name}  ${report.url}  (pid ${report.pid}, Ctrl-C stops it)`);
      onReady(report.url);
    },
  });
  if (outcome.kind === 'failed') throw outcome.error;
  // SIGTERM is how a service manager asks for an orderly end, which this was.
  const reason: unknown = context.signal.reason;
  const byTerm = reason instanceof Error && 'signal' in reason && reason.signal === 'SIGTERM';
  context.exitCode = byTerm ? exitCodes.success : exitCodes.interrupted;
}
