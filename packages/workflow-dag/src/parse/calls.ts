import {
  DEFAULTS,
  LIMITS,
  type CacheConfig,
  type OnError,
  type ToolCallConfig,
  type TransformConfig,
} from '../definition.js';
import { isObject } from '../json.js';
import type { Cursor } from './cursor.js';
import { bool, choice, duration, integer, object, report, text, texts } from './fields.js';
import { readProperties } from './properties.js';

/** Reads what a tool step and an inner step have in common. */
export function readToolCall(field: Cursor, stepId: string): ToolCallConfig {
  const cache = readCache(field.get('cache'), stepId);
  const transform = readTransform(field.get('transform'));
  return {
    tool: text(field.get('tool'), 'workflow/tool') ?? '',
    arguments: object(field.get('arguments')) ?? {},
    onError: readOnError(field.get('onError'), stepId),
    idempotent: bool(field.get('idempotent')) ?? false,
    ...(cache === undefined ? {} : { cache }),
    ...(transform === undefined ? {} : { transform }),
  };
}

const NO_RETRY: OnError = { action: 'abort', retryCount: 0, retryDelayMs: DEFAULTS.retryDelayMs, onExhausted: 'abort' };

/** Reads what follows a failure. */
export function readOnError(field: Cursor, stepId: string): OnError {
  if (!field.present) return NO_RETRY;
  if (!isObject(field.value)) {
    const shown = typeof field.value === 'string' ? field.value : 'continue';
    report(field, 'workflow/on-error', 'an object', `write {action: ${shown}}`);
    return NO_RETRY;
  }
  field.allowKeys(['action', 'retryCount', 'maxRetries', 'retryDelay', 'onExhausted'], {
    retries: 'did you mean "maxRetries"?',
    delay: 'did you mean "retryDelay"?',
  });
  const action = choice(field.get('action'), ['abort', 'continue', 'retry'], 'workflow/on-error') ?? 'abort';
  const retryCount = readRetryCount(field, action, stepId);
  const delay = field.get('retryDelay');
  const onExhausted = choice(field.get('onExhausted'), ['abort', 'continue'], 'workflow/on-error') ?? 'abort';
  if (action !== 'retry' && !field.get('action').present && retryCount > 0) {
    const hint = 'add action: retry';
    field.report('workflow/retry', `${field.path} has retries but no action: they have no effect`, {
      severity: 'warning',
      hint,
      stepId,
    });
  } else if (action !== 'retry') {
    for (const key of ['retryCount', 'maxRetries', 'retryDelay', 'onExhausted']) {
      const unused = field.get(key);
      if (!unused.present) continue;
      const message = `${unused.path} has no effect when action is ${action}`;
      unused.report('workflow/retry', message, {
        severity: 'warning',
        hint: 'write action: retry, or remove it',
        stepId,
      });
    }
  }
  return { action, retryCount, retryDelayMs: duration(delay) ?? DEFAULTS.retryDelayMs, onExhausted };
}

function readRetryCount(field: Cursor, action: OnError['action'], stepId: string): number {
  const both = field.get('retryCount').present && field.get('maxRetries').present;
  const used = field.get('maxRetries').present ? field.get('maxRetries') : field.get('retryCount');
  const count = integer(used, 'workflow/retry');
  if (both && field.get('retryCount').value !== field.get('maxRetries').value) {
    const message = `${field.path} has both retryCount and maxRetries, and they differ`;
    field.get('maxRetries').report('workflow/retry', message, { hint: 'keep one of the two', stepId });
  }
  if (used.present && count === undefined) return 0;
  if ((count ?? 0) < 0 || (action === 'retry' && (count ?? 0) < 1)) {
    const got = count === undefined ? '' : ` (got ${count})`;
    const rule = action === 'retry' ? 'must be at least 1 when action is retry' : 'cannot be negative';
    used.report('workflow/retry', `${used.path} ${rule}${got}`, { hint: 'write for example maxRetries: 3', stepId });
    return Math.max(0, count ?? 0);
  }
  if ((count ?? 0) > LIMITS.retries) {
    const message = `${used.path} is ${count}: at most ${LIMITS.retries} retries are made`;
    used.report('workflow/retry', message, { severity: 'warning', hint: `write ${LIMITS.retries}`, stepId });
  }
  return count ?? 0;
}

function readCache(field: Cursor, stepId: string): CacheConfig | undefined {
  if (object(field, 'workflow/cache') === undefined) return undefined;
  field.allowKeys(['key', 'ttl', 'scope', 'mode', 'staleIfError']);
  const key = text(field.get('key'), 'workflow/cache');
  const ttl = field.get('ttl');
  let ttlMs = duration(ttl) ?? DEFAULTS.cacheTtlMs;
  if (ttlMs > LIMITS.cacheTtlMs) {
    ttl.report('workflow/cache', `${ttl.path} must be at most 168h (seven days)`, { hint: 'write 168h', stepId });
    ttlMs = LIMITS.cacheTtlMs;
  }
  const staleIfErrorMs = duration(field.get('staleIfError'));
  return {
    ...(key === undefined ? {} : { key }),
    ttlMs,
    scope: choice(field.get('scope'), ['user', 'tool', 'workflow', 'global'], 'workflow/cache') ?? 'user',
    mode: choice(field.get('mode'), ['readwrite', 'read', 'write', 'bypass'], 'workflow/cache') ?? 'readwrite',
    ...(staleIfErrorMs === undefined ? {} : { staleIfErrorMs }),
  };
}

function readTransform(field: Cursor): TransformConfig | undefined {
  if (object(field, 'workflow/transform') === undefined) return undefined;
  field.allowKeys(['fields', 'keep', 'drop', 'functions']);
  const keep = field.get('keep');
  const drop = field.get('drop');
  if (keep.present && drop.present) {
    drop.report('workflow/transform', `${field.path} cannot have both keep and drop`, { hint: 'keep one of the two' });
  }
  const shapes = keep.present || drop.present;
  const fields = field.get('fields');
  const names = (list: Cursor): string[] => texts(list, 'workflow/transform').map(({ value }) => String(value));
  return {
    fields:
      !fields.present && shapes
        ? []
        : readProperties(fields, {
            code: 'workflow/transform',
            label: field.path,
            empty: 'needs fields, keep or drop',
          }),
    ...(keep.present ? { keep: names(keep) } : {}),
    ...(drop.present ? { drop: names(drop) } : {}),
    functions: choice(field.get('functions'), ['go', 'extended'], 'workflow/transform') ?? 'go',
  };
}
