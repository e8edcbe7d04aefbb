import { setTimeout as sleep } from 'node:timers/promises';
import { createChildProcesses } from './child-processes.js';
import type { ChildProcesses, ChildWatch } from './child-processes.js';
import { childEnvironment } from './environment.js';
import { describeDown } from './host-start.js';
import type { HostOptions } from './host.js';
import type { RunConfig } from './run-config.js';
import { openWatchdog } from './watchdog.js';
import type { Watchdog } from './watchdog.js';
import { signalGroup } from '@thv/transport';
import type { Connection, ConnectionDown } from '@thv/transport';

const maxTailLines = 50;

/** The one server process behind a listener, with its restarts, its last words and what the status file is told. */
export class ServerProcess {
  readonly tail: string[] = [];
  readonly connection: Connection;
  /** Set when it ended before it answered for the first time. */
  early: ConnectionDown | undefined;
  spawnError: unknown;
  onEarly: ((down: ConnectionDown) => void) | undefined;
  isReady = false;
  readonly #options: HostOptions;
  readonly #watchdog: Watchdog;
  readonly #children: ChildProcesses;
  #restarts = -1;
  #isClosing = false;
  readonly #speaksHttp: boolean;

  constructor(config: RunConfig, options: HostOptions, target?: { readonly host: string; readonly port: number }) {
    this.#options = options;
    this.#speaksHttp = target !== undefined;
    this.#watchdog = openWatchdog({ onTrouble: (message) => options.onEvent?.('watchdog', { message }) });
    this.#children = createChildProcesses({
      watchdog: this.#watchdog,
      ...(options.onChildren === undefined ? {} : { onChange: options.onChildren }),
    });
    const { command, cmd_args: args, working_dir: cwd, env_vars: user, transport } = config;
    this.connection = this.#children.connect(
      {
        command,
        args,
        env: childEnvironment({ env: options.env, user, transport, ...(target === undefined ? {} : { target }) }),
        ...(cwd === undefined ? {} : { cwd }),
        onStderr: (line) => this.said(line),
      },
      this.#watch(),
    );
  }

  get restarts(): number {
    return Math.max(0, this.#restarts);
  }

  /** Notes a line that the server wrote. */
  said(line: string): void {
    this.tail.push(line);
    if (this.tail.length > maxTailLines) this.tail.shift();
    this.#options.onServerOutput?.(`${line}\n`);
  }

  /** Ends the process; the watchdog goes last, since until then it ends what does not end by itself. */
  async close(): Promise<void> {
    this.#isClosing = true;
    // A server that speaks HTTP does not read its input, so the end of that tells it nothing.
    if (this.#speaksHttp) for (const pid of this.#children.pids) signalGroup(pid, 'SIGTERM');
    await this.connection.close();
    for (let turn = 0; turn < 50 && this.#children.pids.length > 0; turn += 1) await sleep(100);
    this.#watchdog.close();
  }

  #watch(): ChildWatch {
    return {
      onStartError: (error) => {
        this.spawnError = error;
      },
      onUp: () => {
        this.#restarts += 1;
        if (this.isReady) this.#options.onState?.({ kind: 'up', restarts: this.#restarts });
      },
      onDown: (down) => this.#down(down),
    };
  }

  #down(down: ConnectionDown): void {
    if (this.#isClosing || down.reason === 'closed') return;
    if (!this.isReady) {
      this.early ??= down;
      this.onEarly?.(down);
      return;
    }
    const reason = describeDown(down);
    const { onState } = this.#options;
    if (down.retryAfterMs === undefined) {
      onState?.({ kind: 'given-up', reason, restarts: this.restarts, stderrTail: down.stderrTail });
    } else {
      onState?.({ kind: 'down', reason, retryAfterMs: down.retryAfterMs });
    }
  }
}
