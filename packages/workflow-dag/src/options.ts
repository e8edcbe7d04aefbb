import type { WorkflowEvent } from './events.js';
import type { Clock, Elicitor, Principal, Random, ToolCaller } from './ports.js';
import type { RetryCap } from './retry.js';
import type { Scheduling } from './scheduler.js';
import type { Store } from './store/port.js';
import { WorkflowError } from './errors.js';
import type { ValidateOptions } from './validate.js';

/** Bounds of a run. None can be switched off. */
export interface EngineLimits {
  /** Steps of a definition. @defaultValue 100 */
  readonly maxSteps: number;
  /** Steps of one run that are under way at once. @defaultValue 10 */
  readonly maxParallel: number;
  /** Runs of one principal that are under way at once. @defaultValue 10 */
  readonly maxRunsPerPrincipal: number;
  /** Bytes that one template may render. @defaultValue 10485760 */
  readonly maxTemplateBytes: number;
  /** Nodes that one template may evaluate. @defaultValue 1000000 */
  readonly maxTemplateSteps: number;
  /** Size of one step's output, about. @defaultValue 10485760 */
  readonly maxStepOutputBytes: number;
  /** Iterations of one `forEach` step, whatever it asks for. @defaultValue 1000 */
  readonly maxIterations: number;
  /** Parsed templates that are remembered. @defaultValue 1000 */
  readonly maxCachedTemplates: number;
  /** Events of a run that are kept for slow readers. @defaultValue 10000 */
  readonly maxEvents: number;
  /** How often a run may lose its process before it is given up. @defaultValue 5 */
  readonly maxRecoveries: number;
  /** Size of one cached result. @defaultValue 1048576 */
  readonly maxCachedBytes: number;
}

export const DEFAULT_ENGINE_LIMITS: EngineLimits = {
  maxSteps: 100,
  maxParallel: 10,
  maxRunsPerPrincipal: 10,
  maxTemplateBytes: 10 * 1024 * 1024,
  maxTemplateSteps: 1_000_000,
  maxStepOutputBytes: 10 * 1024 * 1024,
  maxIterations: 1000,
  maxCachedTemplates: 1000,
  maxEvents: 10_000,
  maxRecoveries: 5,
  maxCachedBytes: 1024 * 1024,
};

/** Options of `createEngine`. */
export interface EngineOptions {
  readonly tools: ToolCaller;
  /** Absent: nobody can be asked, and only `defaultResponse` answers a question. */
  readonly elicitor?: Elicitor;
  /** Absent: a memory store of the engine's own. The engine does not close a store that it was given. */
  readonly store?: Store;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly limits?: Partial<EngineLimits>;
  /** @defaultValue 'levels' */
  readonly scheduling?: Scheduling;
  /** @defaultValue '60s' */
  readonly retryCap?: RetryCap;
  /** Convert text only as Go's `strconv` does, and never to arrays and objects. @defaultValue false */
  readonly strictGoCoercion?: boolean;
  /**
   * Where structured content that is no object goes, such as an array: below this key of the output, beside what the
   * content items give. @defaultValue nowhere
   */
  readonly structuredValueKey?: string;
  /** Allow space around a condition's text. @defaultValue false */
  readonly trimConditions?: boolean;
  /**
   * How definitions are checked before their first run; `false`: the caller has done it. A resumed run is not checked
   * again: its definition was good when it began. @defaultValue every rule, with `limits.maxSteps`
   */
  readonly validation?: ValidateOptions | false;
  /** Check params against the definition's schema before a run. @defaultValue true */
  readonly validateParams?: boolean;
  /** A resumed run gets its whole time again. @defaultValue false */
  readonly resumeExtendsDeadline?: boolean;
  /** How long a run belongs to an engine that shows no sign of life. @defaultValue 30000 */
  readonly leaseTtlMs?: number;
  /** How often an engine renews its leases. @defaultValue a third of `leaseTtlMs` */
  readonly heartbeatMs?: number;
  /** Finished runs older than this are deleted. @defaultValue one hour in memory, seven days in a durable store */
  readonly retentionMs?: number;
  /** Sees every event of every run. What it throws is ignored. */
  readonly onEvent?: (event: WorkflowEvent) => void;
  /** Hears of store and cache failures that do not end a run. What it throws is ignored. */
  readonly onError?: (error: unknown) => void;
}

/** Options of `engine.run`. */
export interface RunOptions {
  /** Cancels the run. */
  readonly signal?: AbortSignal;
  readonly principal?: Principal;
  /** What templates see as `.vars`. */
  readonly vars?: Readonly<Record<string, unknown>>;
  /** A second run with the same key, name and tenant is the first one; with other input it is refused. */
  readonly idempotencyKey?: string;
  /** Overrides the engine's. */
  readonly scheduling?: Scheduling;
  /** Reads no cached result; results are still stored. @defaultValue false */
  readonly noCache?: boolean;
}

/** Refuses an option that is no whole number from `least`. */
export function checkInteger(name: string, value: unknown, least = 1): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return;
  throw new WorkflowError(
    'ERR_WORKFLOW_DAG_ARGUMENT',
    `Expected \`${name}\` to be ${least > 0 ? 'a positive integer' : 'an integer from 0'}, got \`${String(value)}\` (${typeof value})`,
    { details: { name } },
  );
}

/** Fills in the limits that are not given. */
export function resolveLimits(given: Partial<EngineLimits> = {}): EngineLimits {
  const limits = { ...DEFAULT_ENGINE_LIMITS };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULT_ENGINE_LIMITS, name)) {
      throw new WorkflowError(
        'ERR_WORKFLOW_DAG_ARGUMENT',
        `Expected \`limits\` to have known members, got \`${name}\``,
      );
    }
    if (value === undefined) continue;
    checkInteger(`limits.${name}`, value);
    Object.assign(limits, { [name]: value });
  }
  return limits;
}
