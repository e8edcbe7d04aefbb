import type { CompiledWorkflow } from './compile.js';
import type { Principal, ToolInfo } from './ports.js';
import type { RestoredRun } from './resume.js';
import type { Scheduling } from './scheduler.js';
import type { Services } from './step-host.js';
import type { Lease } from './store/port.js';

/** What a run starts from. */
export interface RunStart {
  readonly compiled: CompiledWorkflow;
  readonly services: Services;
  readonly lease: Lease;
  readonly params: Readonly<Record<string, unknown>>;
  readonly vars: Readonly<Record<string, unknown>>;
  readonly principal: Principal | undefined;
  readonly scheduling: Scheduling;
  readonly noCache: boolean;
  readonly deadlineAt: number;
  readonly startedAt: number;
  readonly tools: ReadonlyMap<string, ToolInfo>;
  readonly restored?: RestoredRun | undefined;
  /** Fail at once with this text. */
  readonly refusal?: string | undefined;
  /** Told once when the run is over or given up. */
  readonly onOver: () => void;
}
