import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from '../message.js';
import type { ConnectionDown } from '../ports.js';
import { createLineSplitter } from './lines.js';
import { isGroupAlive, signalGroup } from './process-group.js';
import { idOfDiscarded } from './discarded.js';
import { readLine } from './read-line.js';
import { createStderrTail } from './stderr-tail.js';

/** What to start. */
export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the child; nothing is inherited beside it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string | undefined;
  readonly maxLineBytes: number;
  readonly stopGraceMs: number;
  readonly highWaterBytes: number;
}

/** What one child tells; `onDown` is the last call. */
export interface ChildHandlers {
  onSpawn(): void;
  onMessage(message: Message): void;
  onNoise(text: string): void;
  onOversize(idText: string | undefined, bytes: number): void;
  onStderr(line: string): void;
  onDown(down: Omit<ConnectionDown, 'retryAfterMs'> & { readonly cause?: Error }): void;
}

const NEWLINE = Buffer.from('\n');
const TAIL_LINES = 50;
/** What a child wrote just before it ended is still in the pipe; a grandchild may hold the pipe open for ever. */
const DRAIN_MS = 200;
const GROUP_POLL_MS = 20;
/** The system takes a moment to end what it was told to kill. */
const KILL_MS = 1_000;

/** One life of a server process: pipes, framing, end. */
export class Child {
  readonly #process: ChildProcess;
  readonly #command: ChildCommand;
  readonly #handlers: ChildHandlers;
  readonly #stderr = createStderrTail((line) => this.#handlers.onStderr(line));
  readonly #drainWaiters: (() => void)[] = [];
  #corked = false;
  #isDown = false;
  #closing: Promise<void> | undefined;
  #reason: ConnectionDown['reason'] = 'exit';
  #tellExit = (): void => undefined;
  readonly #exitTold = new Promise<void>((resolve) => {
    this.#tellExit = resolve;
  });

  constructor(command: ChildCommand, handlers: ChildHandlers) {
    this.#command = command;
    this.#handlers = handlers;
    this.#process = spawn(command.command, [...command.args], {
      cwd: command.cwd,
      env: { ...command.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own: a signal reaches what `sh -c` and `npx` start, and Ctrl-C in our terminal does not.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    this.#listen();
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Writes a message and its line break; everything of one turn of the event loop goes out in one system call. */
  write(bytes: Buffer): boolean {
    const { stdin } = this.#process;
    if (this.#isDown || stdin === null || !stdin.writable) return true;
    if (!this.#corked) {
      this.#corked = true;
      stdin.cork();
      process.nextTick(() => {
        this.#corked = false;
        stdin.uncork();
      });
    }
    stdin.write(bytes);
    stdin.write(NEWLINE);
    return this.#hasRoom(stdin);
  }

  drained(): Promise<void> {
    const { stdin } = this.#process;
    if (this.#isDown || stdin === null || !stdin.writable || this.#hasRoom(stdin)) return Promise.resolve();
    return new Promise((resolve) => this.#drainWaiters.push(resolve));
  }

  /** A stream tells of room only when it was above its own mark, so a lower one of ours would wait for ever. */
  #hasRoom(stdin: Writable): boolean {
    return stdin.writableLength < Math.max(this.#command.highWaterBytes, stdin.writableHighWaterMark);
  }

  pause(): void {
    this.#process.stdout?.pause();
  }

  resume(): void {
    if (!this.#isDown) this.#process.stdout?.resume();
  }

  /** Input closed, then SIGTERM, then SIGKILL, each after the grace; resolves when the whole group is gone. */
  close(reason: ConnectionDown['reason'] = 'closed'): Promise<void> {
    this.#closing ??= this.#stop(reason);
    return this.#closing;
  }

  #listen(): void {
    const child = this.#process;
    const splitter = createLineSplitter(
      {
        onLine: (line) => this.#onLine(line),
        onOversize: (prefix, suffix, bytes) => this.#handlers.onOversize(idOfDiscarded(prefix, suffix), bytes),
      },
      this.#command.maxLineBytes,
    );
    child.once('spawn', () => this.#handlers.onSpawn());
    child.once('error', (error) => this.#onError(error));
    child.stdout?.on('data', (chunk: Buffer) => splitter.push(chunk));
    child.stdout?.once('end', () => {
      splitter.end();
      this.#onPipeEnd('stdout-closed');
    });
    child.stdout?.on('error', () => undefined);
    child.stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    child.stderr?.on('error', () => undefined);
    child.stdin?.on('drain', () => this.#wakeWriters());
    child.stdin?.on('error', () => {
      this.#wakeWriters();
      this.#onPipeEnd('write-failed');
    });
    child.once('exit', () => void this.#onExit());
  }

  #onLine(line: Buffer): void {
    if (this.#isDown) return;
    const { messages, noise } = readLine(line);
    for (const message of messages) this.#handlers.onMessage(message);
    if (noise !== undefined) this.#handlers.onNoise(noise);
  }

  #onError(error: Error): void {
    if (this.#process.pid === undefined) this.#down({ reason: 'spawn-failed', cause: error });
  }

  /** A server without its pipes serves nobody; most are on their way out, so their exit gets a moment to be the reason. */
  #onPipeEnd(reason: ConnectionDown['reason']): void {
    setTimeout(() => {
      if (!this.#isDown && !this.#hasExited()) void this.close(reason);
    }, DRAIN_MS).unref();
  }

  #hasExited(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  async #onExit(): Promise<void> {
    const { stdout, stderr } = this.#process;
    // Paused output must flow again, or what was answered before the end is lost; so would be the last words on stderr.
    stdout?.resume();
    await Promise.race([
      Promise.all([streamEnd(stdout), streamEnd(stderr)]),
      sleep(DRAIN_MS, undefined, { ref: false }),
    ]);
    this.#down({ reason: this.#reason });
    this.#tellExit();
    await this.close(this.#reason);
  }

  async #stop(reason: ConnectionDown['reason']): Promise<void> {
    const { pid } = this.#process;
    if (pid === undefined) return this.#down({ reason });
    if (!this.#isDown) this.#reason = reason;
    this.#process.stdin?.end();
    if (reason !== 'closed') this.#down({ reason });
    await this.#endGroup(pid, reason);
    if (this.#hasExited()) await this.#exitTold;
    else this.#down({ reason });
    // A process that left the group may hold this pipe for ever.
    this.#process.stderr?.destroy();
  }

  async #endGroup(pid: number, reason: ConnectionDown['reason']): Promise<void> {
    const { stopGraceMs } = this.#command;
    // A server that is told to end gets its grace; for one that broke the pipe nothing is worth waiting for.
    if (await this.#groupEnds(pid, reason === 'closed' ? stopGraceMs : 0)) return;
    signalGroup(pid, 'SIGTERM');
    if (await this.#groupEnds(pid, stopGraceMs)) return;
    signalGroup(pid, 'SIGKILL');
    await this.#groupEnds(pid, Math.max(stopGraceMs, KILL_MS));
  }

  async #groupEnds(pid: number, withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      if (this.#hasExited() && !isGroupAlive(pid)) return true;
      if (performance.now() >= deadline) return false;
      await sleep(Math.min(GROUP_POLL_MS, withinMs));
    }
  }

  #down(down: { readonly reason: ConnectionDown['reason']; readonly cause?: Error }): void {
    if (this.#isDown) return;
    this.#isDown = true;
    this.#wakeWriters();
    this.#handlers.onDown({
      ...down,
      exitCode: this.#process.exitCode,
      signal: this.#process.signalCode,
      stderrTail: this.#stderr.lines(TAIL_LINES),
    });
    // What still holds the pipes open must not keep us alive or reading.
    this.#process.stdin?.destroy();
    this.#process.stdout?.destroy();
  }

  #wakeWriters(): void {
    for (const wake of this.#drainWaiters.splice(0)) wake();
  }
}

function streamEnd(stream: Readable | null): Promise<void> {
  if (stream === null || stream.readableEnded || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('end', resolve);
    stream.once('close', resolve);
  });
}
