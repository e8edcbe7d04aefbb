import { NIL_MAP } from '@thv/go-template';
import type { StepStatus } from './store/port.js';

/** What templates see of one step. Made anew for each change, never changed. */
export interface StepView {
  readonly status: StepStatus;
  readonly output: unknown;
  readonly content: unknown;
  readonly error?: string;
}

/** What templates see as `.`. */
export interface TemplateData {
  readonly params: Readonly<Record<string, unknown>>;
  readonly steps: ReadonlyMap<string, StepView>;
  readonly vars: Readonly<Record<string, unknown>>;
  readonly workflow: Readonly<Record<string, unknown>>;
  readonly forEach?: Readonly<Record<string, unknown>>;
}

/** A step that runs: no output yet. */
export const RUNNING: StepView = { status: 'running', output: NIL_MAP, content: NIL_MAP };

/** A value as it leaves the engine: Go's integers become numbers, its nil map becomes an empty object. */
export function toPublic(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value === NIL_MAP) return {};
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(toPublic);
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    // `copy[key] = …` would set the prototype for this one key.
    if (key === '__proto__')
      Object.defineProperty(copy, key, { value: toPublic(item), enumerable: true, configurable: true, writable: true });
    else copy[key] = toPublic(item);
  }
  return copy;
}

/** The time of the start as templates see it: RFC 3339, seconds, UTC. */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
