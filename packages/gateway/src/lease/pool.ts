import type { ChannelOptions, Failure } from '@thv/dispatcher';
import { RPC_CODES, systemClock } from '@thv/transport';
import type { Clock, Connection } from '@thv/transport';
import { refused } from '../replies.js';
import { LeasedProcess } from './process.js';
import type { CapabilityProfile } from './profile.js';

/** Limits of leased processes. Times are milliseconds. */
export interface LeaseLimits {
  /** Processes at once, idle ones included. @defaultValue 32 */
  readonly maxProcesses?: number;
  /** Processes that serve one caller at once. @defaultValue `maxProcesses` */
  readonly maxPerPrincipal?: number;
  /** Processes that start at the same time. @defaultValue 4 */
  readonly maxConcurrentStarts?: number;
  /** How long an idle process is kept for its caller. @defaultValue 60000 */
  readonly idleTtlMs?: number;
  /** Requests that wait for a process. @defaultValue 64 */
  readonly maxWaiting?: number;
  /** How long a request waits for a process. @defaultValue 10000 */
  readonly waitTimeoutMs?: number;
  /** How long a call stays parked while its client answers. @defaultValue 600000 */
  readonly parkTtlMs?: number;
  /** Rounds of one call. @defaultValue 10 */
  readonly maxRounds?: number;
}

/** What a pool is made of. */
export interface PoolOptions {
  readonly connect: (purpose: 'lease' | 'watch') => Connection | Promise<Connection>;
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly channel: ChannelOptions;
  readonly limits: LeaseLimits;
  readonly clock?: Clock;
}

interface Waiting {
  readonly profile: CapabilityProfile;
  readonly owner: string;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (process: LeasedProcess | Failure) => void;
  readonly stop: () => void;
}

/**
 * Processes that one request chain holds at a time. An idle one is used again only for the same caller and the same
 * capabilities: it may remember things.
 */
export class LeasePool {
  readonly #options: PoolOptions;
  readonly #clock: Clock;
  readonly #busy = new Set<LeasedProcess>();
  readonly #idle = new Set<LeasedProcess>();
  /** Those that start; a closing pool ends them too. */
  readonly #opening = new Set<LeasedProcess>();
  /** Owners of processes that start. */
  readonly #starting: string[] = [];
  #waiting: Waiting[] = [];
  #stopSweep: (() => void) | undefined;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get counts(): { readonly busy: number; readonly idle: number; readonly waiting: number } {
    return { busy: this.#busy.size + this.#starting.length, idle: this.#idle.size, waiting: this.#waiting.length };
  }

  /** A process for this caller alone, until {@link release} or {@link dispose}. */
  async acquire(profile: CapabilityProfile, owner: string, signal?: AbortSignal): Promise<LeasedProcess | Failure> {
    if (this.#closed) return SHUTDOWN;
    const known = this.#reuse(profile, owner);
    if (known !== undefined) return known;
    return this.#mayStart(owner) ? this.#start(profile, owner, signal) : this.#wait(profile, owner, signal);
  }

  /** Gives a process back that is as good as before. */
  release(process: LeasedProcess): void {
    if (!this.#busy.delete(process)) return;
    process.holder = undefined;
    if (this.#closed || process.ended !== undefined) {
      void process.close();
    } else {
      process.idleSince = this.#clock.now();
      this.#idle.add(process);
      this.#sweepLater();
    }
    this.#next();
  }

  /** Ends a process that nobody may use again. */
  dispose(process: LeasedProcess): void {
    process.holder = undefined;
    this.#busy.delete(process);
    this.#idle.delete(process);
    void process.close();
    this.#next();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopSweep?.();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { resolve, stop } of waiting) {
      stop();
      resolve(SHUTDOWN);
    }
    const all = [...this.#busy, ...this.#idle, ...this.#opening];
    this.#busy.clear();
    this.#idle.clear();
    await Promise.all(all.map((process) => process.close()));
  }

  #reuse(profile: CapabilityProfile, owner: string): LeasedProcess | undefined {
    for (const process of this.#idle) {
      if (process.owner !== owner || process.profile.key !== profile.key || process.ended !== undefined) continue;
      this.#idle.delete(process);
      this.#busy.add(process);
      return process;
    }
    return undefined;
  }

  #mayStart(owner: string): boolean {
    const { maxProcesses = 32, maxPerPrincipal = maxProcesses, maxConcurrentStarts = 4 } = this.#options.limits;
    if (this.#starting.length >= maxConcurrentStarts) return false;
    const mine = [...this.#busy].filter((process) => process.owner === owner).length;
    if (mine + this.#starting.filter((other) => other === owner).length >= maxPerPrincipal) return false;
    if (this.#busy.size + this.#idle.size + this.#starting.length < maxProcesses) return true;
    // An idle process of another caller or profile makes room.
    const [oldest] = [...this.#idle].toSorted((a, b) => a.idleSince - b.idleSince);
    if (oldest === undefined) return false;
    this.#idle.delete(oldest);
    void oldest.close();
    return true;
  }

  async #start(profile: CapabilityProfile, owner: string, signal?: AbortSignal): Promise<LeasedProcess | Failure> {
    this.#starting.push(owner);
    try {
      const connection = await this.#options.connect('lease');
      if (this.#closed) {
        void connection.close();
        return SHUTDOWN;
      }
      const { channel, clientInfo } = this.#options;
      const process: LeasedProcess = new LeasedProcess(connection, { profile, owner, channel }, () =>
        this.#died(process),
      );
      this.#opening.add(process);
      // Nobody waits for it any more: what hangs in its start must not keep others from theirs.
      const stop = (): void => void process.close();
      signal?.addEventListener('abort', stop, { once: true });
      const failure = await process.open(clientInfo).finally(() => {
        this.#opening.delete(process);
        signal?.removeEventListener('abort', stop);
      });
      if (failure !== undefined || this.#closed) {
        void process.close();
        return failure ?? SHUTDOWN;
      }
      this.#busy.add(process);
      return process;
    } catch (error) {
      const text = `The MCP server could not be started: ${error instanceof Error ? error.message : String(error)}`;
      return refused(503, RPC_CODES.internalError, text, { reason: 'start-failed' });
    } finally {
      this.#starting.splice(this.#starting.indexOf(owner), 1);
      this.#next();
    }
  }

  #wait(profile: CapabilityProfile, owner: string, signal?: AbortSignal): Promise<LeasedProcess | Failure> {
    const { maxWaiting = 64, waitTimeoutMs = 10_000 } = this.#options.limits;
    if (this.#waiting.length >= maxWaiting) return Promise.resolve(busy(waitTimeoutMs));
    return new Promise((resolve) => {
      const entry: Waiting = {
        profile,
        owner,
        signal,
        resolve,
        stop: this.#clock.setTimer(waitTimeoutMs, () => {
          this.#waiting = this.#waiting.filter((other) => other !== entry);
          resolve(busy(waitTimeoutMs));
        }),
      };
      this.#waiting.push(entry);
    });
  }

  /** Serves those who wait, in their order; one who cannot be served yet does not hold up the others. */
  #next(): void {
    for (const entry of this.#waiting) {
      // A start that failed at once has served those who wait already.
      if (!this.#waiting.includes(entry)) continue;
      const known = this.#reuse(entry.profile, entry.owner);
      if (known === undefined && !this.#mayStart(entry.owner)) continue;
      this.#waiting = this.#waiting.filter((other) => other !== entry);
      entry.stop();
      if (known !== undefined) entry.resolve(known);
      else void this.#start(entry.profile, entry.owner, entry.signal).then(entry.resolve);
    }
  }

  #died(process: LeasedProcess): void {
    this.#idle.delete(process);
    // The holder of a busy one learns it from its call, and gives it back.
  }

  #sweepLater(): void {
    const { idleTtlMs = 60_000 } = this.#options.limits;
    this.#stopSweep ??= this.#clock.setTimer(idleTtlMs, () => {
      this.#stopSweep = undefined;
      const limit = this.#clock.now() - idleTtlMs;
      for (const process of this.#idle) {
        if (process.idleSince > limit) continue;
        this.#idle.delete(process);
        void process.close();
      }
      if (this.#idle.size > 0) this.#sweepLater();
    });
  }
}

const SHUTDOWN: Failure = {
  reason: 'shutdown',
  status: 503,
  code: RPC_CODES.internalError,
  message: 'The server is shutting down',
  data: { reason: 'shutdown' },
};

const busy = (retryAfterMs: number): Failure => ({
  reason: 'busy',
  status: 503,
  code: RPC_CODES.internalError,
  message: 'All processes of the MCP server are in use',
  data: { reason: 'no-free-process' },
  retryAfterMs,
});
