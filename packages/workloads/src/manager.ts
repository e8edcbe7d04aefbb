import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkInteger } from './arguments.js';
import { createClaims } from './claim.js';
import { WorkloadsError } from './errors.js';
import { createGroupStore } from './groups.js';
import type { GroupStore } from './groups.js';
import type { Launcher } from './launch.js';
import { removeLog } from './log-reader.js';
import { checkWorkloadName } from './names.js';
import type { Paths } from './paths.js';
import { isAlive, systemProcesses } from './process-identity.js';
import type { ProcessIdentity, ProcessTable } from './process-identity.js';
import { choosePort, requireFreePort } from './ports.js';
import { createRunConfigStore, notFound } from './run-config.js';
import type { RunConfig, RunConfigStore } from './run-config.js';
import { startWorkload } from './start.js';
import { createStatusStore } from './status.js';
import type { StatusRecord, StatusStore } from './status.js';
import { describeBroken, describeWorkload } from './workload.js';
import type { Workload } from './workload.js';

/** Options of {@link createWorkloadManager}. */
export interface WorkloadManagerOptions {
  readonly paths: Paths;
  /** Starts supervisors; see `createLauncher`. */
  readonly launch: Launcher;
  /** @defaultValue the machine's processes */
  readonly processes?: ProcessTable;
  /** How often a process that is not ours is looked at while it ends. @defaultValue `25` */
  readonly pollMs?: number;
}

/** What {@link WorkloadManager.list} shows. */
export interface ListOptions {
  /** Stopped ones too. @defaultValue `false` */
  readonly all?: boolean;
  readonly group?: string;
  /** Only those that have all of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Options of {@link WorkloadManager.stop} and {@link WorkloadManager.remove}. */
export interface StopOptions {
  /** How long the server may take before it is killed. @defaultValue `30000` */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The servers of this user on this machine. */
export interface WorkloadManager {
  readonly groups: GroupStore;
  readonly configs: RunConfigStore;
  /** Sorted by name. A broken file makes one entry of status `error`, never a failure. */
  list(options?: ListOptions): Promise<Workload[]>;
  /** @throws WorkloadsError `ERR_WORKLOADS_NOT_FOUND`, `ERR_WORKLOADS_FILE` */
  get(name: string): Promise<Workload>;
  /** Where the logs are. */
  logPaths(name: string): { readonly server: string; readonly proxy: string };
  /**
   * Starts a new workload in the background and waits until its server answered. Port `0` is replaced by a free one,
   * which is kept. When it fails, nothing is left behind.
   * @throws WorkloadsError `ERR_WORKLOADS_NAME_IN_USE`, `ERR_WORKLOADS_GROUP_NOT_FOUND`, `ERR_WORKLOADS_PORT`, `ERR_WORKLOADS_START`
   */
  run(config: RunConfig, options?: { readonly signal?: AbortSignal }): Promise<Workload>;
  /** Saves a configuration for somebody who supervises it in his own process, and takes it away again on failure. */
  reserve(config: RunConfig): Promise<RunConfig>;
  /** Starts a workload that is not running. @throws WorkloadsError `ERR_WORKLOADS_ALREADY_RUNNING` and those of `run` */
  start(name: string, options?: { readonly signal?: AbortSignal }): Promise<Workload>;
  /** Stops a workload with all its processes. Answers `false` when it was not running. */
  stop(name: string, options?: StopOptions): Promise<boolean>;
  /** Stops a workload and removes its files, broken ones too. @throws WorkloadsError `ERR_WORKLOADS_NOT_FOUND` */
  remove(name: string, options?: StopOptions): Promise<void>;
  /** @throws WorkloadsError `ERR_WORKLOADS_GROUP_NOT_FOUND` */
  moveToGroup(name: string, group: string): Promise<void>;
}

/** Opens the servers of this user; see {@link WorkloadManager}. */
export function createWorkloadManager(options: WorkloadManagerOptions): WorkloadManager {
  checkInteger('pollMs', options.pollMs, 1);
  return new Manager(options);
}

class Manager implements WorkloadManager {
  readonly groups: GroupStore;
  readonly configs: RunConfigStore;
  readonly #statuses: StatusStore;
  readonly #claims: ReturnType<typeof createClaims>;
  readonly #processes: ProcessTable;
  readonly #options: WorkloadManagerOptions;

  constructor(options: WorkloadManagerOptions) {
    const { paths, processes = systemProcesses } = options;
    this.#options = options;
    this.#processes = processes;
    this.groups = createGroupStore(paths);
    this.configs = createRunConfigStore(paths);
    this.#statuses = createStatusStore(paths);
    this.#claims = createClaims(paths, processes);
  }

  logPaths(name: string): { readonly server: string; readonly proxy: string } {
    const { paths } = this.#options;
    return { server: join(paths.serverLogs, `${name}.log`), proxy: join(paths.logs, `${name}.log`) };
  }

  async list({ all = false, group, labels = {} }: ListOptions = {}): Promise<Workload[]> {
    const names = await this.configs.names();
    const workloads = await Promise.all(names.map(async (name) => this.#describe(name)));
    return workloads.filter((workload): workload is Workload => {
      if (workload === undefined || (!all && workload.status === 'stopped')) return false;
      if (group !== undefined && (workload.group ?? '') !== group) return false;
      return Object.entries(labels).every(([key, value]) => workload.labels?.[key] === value);
    });
  }

  async get(name: string): Promise<Workload> {
    const config = await this.configs.read(name);
    return this.#describeConfig(config);
  }

  /** `undefined` when the workload was removed since its name was read. */
  async #describe(name: string): Promise<Workload | undefined> {
    try {
      return await this.get(name);
    } catch (error) {
      if (!WorkloadsError.is(error)) throw error;
      if (error.code === 'ERR_WORKLOADS_NOT_FOUND') return undefined;
      return describeBroken(name, error.message, await this.#modifiedAt(name));
    }
  }

  async #describeConfig(config: RunConfig): Promise<Workload> {
    const { record, problem } = await this.#readStatus(config.name);
    const createdAt = record?.created_at || (await this.#modifiedAt(config.name));
    if (problem !== undefined) {
      const holder = await this.#claims.holder(config.name);
      const status = holder === undefined ? 'unknown' : 'running';
      return describeWorkload(config, record, { status, context: problem, createdAt });
    }
    if (record === undefined) return describeWorkload(config, record, { status: 'stopped', context: '', createdAt });
    const { supervisor } = record;
    const ended = record.status === 'stopped' || record.status === 'error';
    if (ended || supervisor === undefined || (await isAlive(this.#processes, supervisor))) {
      return describeWorkload(config, record, { status: record.status, context: record.status_context, createdAt });
    }
    const context = `its process ${supervisor.pid} is gone; thv start ${config.name} brings it back`;
    return describeWorkload(config, record, { status: 'unhealthy', context, createdAt });
  }

  async #readStatus(name: string): Promise<{ record?: StatusRecord; problem?: string }> {
    try {
      const record = await this.#statuses.read(name);
      return record === undefined ? {} : { record };
    } catch (error) {
      if (WorkloadsError.is(error)) return { problem: error.message };
      throw error;
    }
  }

  async #modifiedAt(name: string): Promise<string> {
    const info = await stat(this.configs.pathOf(name)).catch(() => undefined);
    return (info?.mtime ?? new Date(0)).toISOString();
  }

  async reserve(config: RunConfig): Promise<RunConfig> {
    await this.groups.require(config.group);
    if (config.port !== 0) await requireFreePort(config.host, config.port);
    const names = await this.configs.names();
    const taken = await Promise.all(names.map(async (name) => this.configs.read(name).catch(() => undefined)));
    const port = config.port || (await choosePort(config.host, new Set(taken.map((other) => other?.port ?? 0))));
    const complete = { ...config, port };
    await this.configs.create(complete);
    return complete;
  }

  async run(config: RunConfig, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Workload> {
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const complete = await this.reserve(config);
      try {
        await this.#launch(complete, signal);
        return await this.get(complete.name);
      } catch (error) {
        // Nothing half-made stays: neither the name nor a process nor a file.
        await this.remove(complete.name).catch(() => undefined);
        // A port that we chose may have been taken by somebody else before the supervisor listened on it.
        const isRace = config.port === 0 && WorkloadsError.is(error) && error.code === 'ERR_WORKLOADS_PORT';
        if (!isRace || attempt === 3) throw error;
      }
    }
  }

  async start(name: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<Workload> {
    const config = await this.configs.read(name);
    const holder = await this.#claims.holder(name);
    if (holder !== undefined) {
      throw new WorkloadsError(
        'ERR_WORKLOADS_ALREADY_RUNNING',
        `"${name}" is already running (process ${holder.pid})`,
        {
          details: { name, hint: `thv status ${name}` },
        },
      );
    }
    await this.#endLeftOvers(name);
    await requireFreePort(config.host, config.port);
    await this.#launch(config, signal);
    return this.get(name);
  }

  async #launch(config: RunConfig, signal: AbortSignal | undefined): Promise<void> {
    await startWorkload({
      config,
      launch: this.#options.launch,
      logPath: this.logPaths(config.name).proxy,
      serverLogPath: this.logPaths(config.name).server,
      signal,
      stop: async () => this.stop(config.name),
    });
  }

  async stop(name: string, { timeoutMs = 30_000, signal }: StopOptions = {}): Promise<boolean> {
    checkInteger('timeoutMs', timeoutMs, 0);
    await this.#requireKnown(name);
    const holder = await this.#claims.holder(name);
    if (holder !== undefined) await this.#end(name, holder, timeoutMs, signal);
    const left = await this.#endLeftOvers(name);
    await this.#claims.clear(name);
    const { record } = await this.#readStatus(name);
    if (record !== undefined && record.status !== 'stopped') {
      const { supervisor: _, ...rest } = record;
      const now = new Date().toISOString();
      await this.#statuses.write(name, {
        ...rest,
        status: 'stopped',
        status_context: '',
        children: [],
        started_at: '',
        updated_at: now,
      });
    }
    return holder !== undefined || left > 0;
  }

  async #end(name: string, holder: ProcessIdentity, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    this.#processes.kill(holder.pid, 'SIGTERM');
    if (await this.#waitForEnd(holder, timeoutMs, signal)) return;
    // Its watchdog ends what it leaves behind.
    this.#processes.kill(holder.pid, 'SIGKILL');
    if (await this.#waitForEnd(holder, 5000, signal)) return;
    throw new WorkloadsError(
      'ERR_WORKLOADS_STOP',
      `"${name}" could not be stopped: process ${holder.pid} does not end`,
      {
        details: { name, hint: `kill -9 ${holder.pid}` },
      },
    );
  }

  async #waitForEnd(identity: ProcessIdentity, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    const { pollMs = 25 } = this.#options;
    const deadline = performance.now() + timeoutMs;
    while (await isAlive(this.#processes, identity)) {
      signal?.throwIfAborted();
      if (performance.now() >= deadline) return false;
      await sleep(pollMs);
    }
    return true;
  }

  /** Ends server processes whose supervisor was killed and whose watchdog did not do it; answers how many there were. */
  async #endLeftOvers(name: string): Promise<number> {
    const { record } = await this.#readStatus(name);
    if (record === undefined) return 0;
    if (record.supervisor !== undefined && (await isAlive(this.#processes, record.supervisor))) return 0;
    let count = 0;
    for (const child of record.children) {
      if (!(await isAlive(this.#processes, child))) continue;
      count += 1;
      this.#processes.kill(-child.pid, 'SIGTERM');
      if (await this.#waitForEnd(child, 1000)) continue;
      this.#processes.kill(-child.pid, 'SIGKILL');
      await this.#waitForEnd(child, 5000);
    }
    return count;
  }

  async remove(name: string, options: StopOptions = {}): Promise<void> {
    await this.stop(name, options);
    await this.configs.remove(name);
    await this.#statuses.remove(name);
    await this.#claims.clear(name);
    const { server, proxy } = this.logPaths(name);
    await removeLog(server);
    await removeLog(proxy);
  }

  async moveToGroup(name: string, group: string): Promise<void> {
    await this.groups.require(group);
    await this.configs.write({ ...(await this.configs.read(name)), group });
  }

  /** A name is known when its file is there, whatever is in it. */
  async #requireKnown(name: string): Promise<void> {
    checkWorkloadName(name);
    const names = await this.configs.names();
    if (!names.includes(name)) throw notFound(name);
  }
}
