import { closeSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openLogFile, superviseWorkload } from '@thv/workloads';
import { exitCodes } from '../exit.js';
import { supervisorEnvironment } from '../settings.js';
import { pathsOf } from '../workloads.js';
import type { RegisterCommand } from './index.js';

/** What `run` and `start` leave behind: it lives as long as the server and reports once, on file descriptor 3. */
export const register: RegisterCommand = (command, context) => {
  command.argument('<name>').action(async (name: string) => {
    const { pino } = await import('pino');
    const paths = pathsOf(context);
    const log = openLogFile(join(paths.logs, `${name}.log`));
    const logger = pino(
      {
        base: { component: 'proxy', server: name },
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (level) => ({ level }) },
      },
      { write: (line: string) => log.write(line) },
    );
    // The folder of the shell that ran `run` may go away, or be a disk that somebody wants to unmount.
    process.chdir('/');
    const outcome = await superviseWorkload(name, {
      paths,
      env: await supervisorEnvironment(context),
      signal: context.signal,
      onEvent: (event, fields) => {
        const level = event === 'failed' || event === 'given-up' ? 'error' : event === 'down' ? 'warn' : 'info';
        logger[level](fields, event);
      },
      report: (report) => {
        try {
          writeSync(3, `${JSON.stringify(report)}\n`);
          closeSync(3);
        } catch {
          // Nobody waits for the report any more.
        }
      },
    });
    log.close();
    context.exitCode = outcome.kind === 'stopped' ? exitCodes.success : exitCodes.error;
  });
};
