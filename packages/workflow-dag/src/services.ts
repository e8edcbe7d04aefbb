import { SingleFlight } from './cache.js';
import { systemClock, systemRandom } from './clock.js';
import { Templates } from './expand.js';
import { extendedFunctions } from './extended-functions.js';
import { resolveLimits, type EngineOptions } from './options.js';
import type { Services } from './step-host.js';
import type { Store } from './store/port.js';

/** What all runs of an engine share, from its options. */
export function servicesOf(options: EngineOptions, store: Store, leaseTtlMs: number): Services {
  const { clock = systemClock, random = systemRandom, onError } = options;
  const limits = resolveLimits(options.limits);
  const budget = { maxOutputBytes: limits.maxTemplateBytes, maxSteps: limits.maxTemplateSteps };
  const capacity = limits.maxCachedTemplates;
  return {
    tools: options.tools,
    elicitor: options.elicitor,
    store,
    clock,
    random,
    limits,
    leaseTtlMs,
    templates: new Templates(budget, { capacity }),
    extendedTemplates: new Templates(budget, { capacity, functions: extendedFunctions }),
    retryCap: options.retryCap ?? '60s',
    strictGo: options.strictGoCoercion ?? false,
    structuredValueKey: options.structuredValueKey,
    trimConditions: options.trimConditions ?? false,
    flights: new SingleFlight(),
    onEvent: options.onEvent,
    report(error) {
      try {
        onError?.(error);
      } catch {
        // Whoever listens for failures has one of his own: nothing is left to tell.
      }
    },
  };
}
