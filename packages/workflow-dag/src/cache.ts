import { createHash } from 'node:crypto';
import type { CacheConfig } from './definition.js';
import { WorkflowError } from './errors.js';
import type { Principal } from './ports.js';
import type { CallPlan } from './run-step.js';
import { sleep, type StepHost, type StepOutcome } from './step-host.js';
import { checkSize } from './step-output.js';
import type { StepState } from './step-state.js';
import type { CacheEntry } from './store/port.js';

/** Text with keys in order, so that equal values are equal text. `bigint` and absent members do not occur. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson((value as Record<string, unknown>)[key])}`);
  return `{${members.join(',')}}`;
}

/** The key of a principal: two are the same exactly when issuer, subject and tenant are. Empty for nobody. */
export function principalKey(principal: Principal | undefined): string {
  return principal === undefined
    ? ''
    : JSON.stringify([principal.issuer ?? '', principal.subject, principal.tenant ?? '']);
}

/** The principal of a key that {@link principalKey} made. */
export function principalOf(key: string): Principal | undefined {
  if (key === '') return undefined;
  const [issuer, subject, tenant] = JSON.parse(key) as [string, string, string];
  return { subject, ...(issuer === '' ? {} : { issuer }), ...(tenant === '' ? {} : { tenant }) };
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

const schemaHashes = new WeakMap<object, string>();

function schemaHash(schema: object | undefined): string {
  if (schema === undefined) return '';
  let hash = schemaHashes.get(schema);
  if (hash === undefined) schemaHashes.set(schema, (hash = sha256(canonicalJson(schema))));
  return hash;
}

function cacheKey(host: StepHost, call: CallPlan, config: CacheConfig): string {
  const { tool } = call;
  const stated = config.key === undefined ? undefined : host.services.templates.render(config.key, call.data);
  const audience = { user: principalKey(host.principal), workflow: host.workflow, tool: '', global: '' }[config.scope];
  // Only an author who names a key may share results between tools.
  const shared = config.scope === 'global' && stated !== undefined;
  const source = shared ? [] : [tool.workload ?? '', tool.name, call.config.tool, schemaHash(tool.inputSchema)];
  return sha256(
    canonicalJson([1, config.scope, audience, ...source, stated === undefined ? [call.arguments] : stated]),
  );
}

/** Calls in progress by key, so that equal calls of one process happen once. */
export class SingleFlight {
  readonly #flights = new Map<string, Promise<StepOutcome>>();

  /**
   * Makes the call, or waits for the same call of somebody else. Where that one fails or is given up, this one makes its
   * own.
   */
  async run(
    key: string,
    state: StepState,
    call: () => Promise<StepOutcome>,
  ): Promise<{ outcome: StepOutcome; shared: boolean }> {
    const other = this.#flights.get(key);
    if (other !== undefined) {
      try {
        return { outcome: await other, shared: true };
      } catch (error) {
        if (state.isOver) throw error;
        return { outcome: await call(), shared: false };
      }
    }
    let giveUp: () => void = () => undefined;
    const flight = new Promise<StepOutcome>((resolve, reject) => {
      giveUp = () => reject(new WorkflowError('ERR_WORKFLOW_DAG_CANCELLED', 'the call was given up'));
      call().then(resolve, reject);
    });
    const forget = state.onOver(giveUp);
    this.#flights.set(key, flight);
    try {
      return { outcome: await flight, shared: false };
    } finally {
      forget();
      this.#flights.delete(key);
    }
  }
}

/**
 * Answers from the cache, or makes the call and keeps its result. Only results of successful calls are kept; a failing
 * cache fails no step.
 */
export async function withCache(
  host: StepHost,
  state: StepState,
  call: CallPlan,
  config: CacheConfig,
  make: () => Promise<StepOutcome>,
): Promise<StepOutcome> {
  if (config.mode === 'bypass') return make();
  const reads = config.mode !== 'write' && !host.noCache;
  const key = cacheKey(host, call, config);
  const known = reads ? await lookUp(host, key) : undefined;
  if (known !== undefined && known.expiresAt > host.services.clock.now()) return hit(known);
  const fill = async (): Promise<StepOutcome> => {
    const outcome = await make();
    if (config.mode !== 'read') await keep(host, call, config, key, outcome);
    return outcome;
  };
  const fillOnce = config.mode === 'read' ? fill : () => fillAlone(host, state, key, fill);
  try {
    if (!reads) return await fill();
    const { outcome, shared } = await host.services.flights.run(key, state, fillOnce);
    return shared ? { output: outcome.output, content: outcome.content, retryCount: 0, fromCache: true } : outcome;
  } catch (error) {
    if (known === undefined || state.isOver) throw error;
    return hit(known);
  }
}

/** How long another process may take before its result is no longer waited for. */
const LOCK_MS = 5000;
const POLL_MS = 100;

/**
 * Makes a result unless another process is making it, whose result is then waited for. Only a store that processes share
 * knows of others; equal calls of one process meet in {@link SingleFlight}.
 */
async function fillAlone(
  host: StepHost,
  state: StepState,
  key: string,
  fill: () => Promise<StepOutcome>,
): Promise<StepOutcome> {
  const { store, clock } = host.services;
  if (!store.durable) return fill();
  const attempt = <T>(ask: Promise<T>, otherwise: T): Promise<T> =>
    ask.catch((error: unknown) => {
      host.services.report(error);
      return otherwise;
    });
  const giveUpAt = clock.now() + LOCK_MS;
  while (!(await attempt(store.cacheLock(key, LOCK_MS), true))) {
    if (state.isOver || clock.now() >= giveUpAt) return fill();
    await sleep(host, state, POLL_MS);
    const made = await lookUp(host, key);
    if (made !== undefined && made.expiresAt > clock.now()) return hit(made);
  }
  try {
    return await fill();
  } finally {
    await attempt(store.cacheUnlock(key), undefined);
  }
}

function hit(entry: CacheEntry): StepOutcome {
  return { output: entry.output, content: entry.content, retryCount: 0, fromCache: true };
}

async function lookUp(host: StepHost, key: string): Promise<CacheEntry | undefined> {
  try {
    return await host.services.store.cacheGet(key);
  } catch (error) {
    host.services.report(error);
    return undefined;
  }
}

async function keep(
  host: StepHost,
  call: CallPlan,
  config: CacheConfig,
  key: string,
  outcome: StepOutcome,
): Promise<void> {
  const { clock, limits, store } = host.services;
  try {
    const bytes = checkSize(
      [outcome.output, outcome.content],
      limits.maxCachedBytes,
      `The cached result of ${call.config.tool}`,
    );
    const now = clock.now();
    const expiresAt = now + config.ttlMs;
    await store.cachePut({
      key,
      workflow: host.workflow,
      tool: call.config.tool,
      output: outcome.output,
      content: outcome.content,
      bytes,
      createdAt: now,
      expiresAt,
      staleUntil: expiresAt + (config.staleIfErrorMs ?? 0),
    });
  } catch (error) {
    host.services.report(error);
  }
}
