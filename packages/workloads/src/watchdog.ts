import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

/**
 * Ends process groups when this process is gone, however it went: a second, tiny process waits at the end of a pipe
 * that the system closes for us, also after SIGKILL.
 */
export interface Watchdog {
  /** The process itself; `undefined` when it could not be started. */
  readonly pid: number | undefined;
  /** `pid` leads a process group that must not outlive this process. */
  watch(pid: number): void;
  /** The group of `pid` has ended; its number may belong to somebody else soon. */
  unwatch(pid: number): void;
  /** Lets the watchdog go without ending anything. Idempotent. */
  close(): void;
}

/** Options of {@link openWatchdog}. */
export interface WatchdogOptions {
  /** Called when the watchdog could not be started or was killed; a killed one is started again. */
  readonly onTrouble?: (message: string) => void;
  readonly platform?: NodeJS.Platform;
}

// A shell, since it takes a megabyte where a second Node takes forty. Groups get half a second for an orderly end.
const shellScript = `
trap '' INT TERM HUP
groups=' '
while read -r word group; do
  case $word in
    watch) groups="$groups$group ";;
    unwatch) rest=' '; for each in $groups; do [ "$each" = "$group" ] || rest="$rest$each "; done; groups=$rest;;
    close) exit 0;;
  esac
done
for each in $groups; do kill -s TERM -- "-$each" 2>/dev/null; done
for turn in 1 2 3; do
  alive=
  for each in $groups; do kill -s 0 -- "-$each" 2>/dev/null && alive=yes; done
  [ -n "$alive" ] || exit 0
  sleep 0.2 2>/dev/null || { sleep 1; break; }
done
for each in $groups; do kill -s KILL -- "-$each" 2>/dev/null; done
`;

const windowsScript = `
const pids = new Set();
let rest = '';
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const [word, pid] = line.split(' ');
    if (word === 'watch') pids.add(pid);
    else if (word === 'unwatch') pids.delete(pid);
    else process.exit(0);
  }
}).on('end', () => {
  for (const pid of pids) require('node:child_process').spawnSync('taskkill', ['/T', '/F', '/PID', pid]);
});
`;

const maxRestarts = 5;

/** Starts a watchdog for this process. It never throws: without one, servers end on their closed input alone. */
export function openWatchdog({ onTrouble, platform = process.platform }: WatchdogOptions = {}): Watchdog {
  const watched = new Set<number>();
  let child: ChildProcess | undefined;
  let closed = false;
  let restarts = 0;

  function start(): void {
    const [command, args] =
      platform === 'win32' ? [process.execPath, ['-e', windowsScript]] : ['/bin/sh', ['-c', shellScript]];
    const started = spawn(command, args, {
      // In a session of its own: what is sent to our group must not end the one who looks after it.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: platform === 'win32' ? undefined : '/',
      windowsHide: true,
    });
    child = started;
    started.unref();
    started.stdin?.on('error', () => undefined);
    started.once('error', (error) => {
      onTrouble?.(`The watchdog could not be started: ${error.message}`);
    });
    started.once('exit', () => {
      if (closed || child !== started) return;
      restarts += 1;
      child = undefined;
      onTrouble?.(`The watchdog ended${restarts <= maxRestarts ? ' and is started again' : ''}`);
      if (restarts <= maxRestarts) start();
    });
    for (const pid of watched) tell(`watch ${pid}`);
  }

  function tell(line: string): void {
    child?.stdin?.write(`${line}\n`);
  }

  start();
  return {
    get pid() {
      return child?.pid;
    },
    watch(pid) {
      watched.add(pid);
      tell(`watch ${pid}`);
    },
    unwatch(pid) {
      if (watched.delete(pid)) tell(`unwatch ${pid}`);
    },
    close() {
      if (closed) return;
      closed = true;
      child?.stdin?.end('close\n');
    },
  };
}
