import type { JsonObject } from '@thv/transport';

/** The newest version with `initialize` and sessions. */
export const LATEST_LEGACY_VERSION = '2025-11-25';

export { LEGACY_VERSIONS, MODERN_VERSION, checkModernHeaders, claimedVersion, classify } from '@thv/transport';
export type { Classification, ClassificationError } from '@thv/transport';

/** The member `key` of `holder` when it is an object of its own. */
export function objectIn(holder: JsonObject, key: string): JsonObject | undefined {
  if (!Object.hasOwn(holder, key)) return undefined;
  const value = holder[key];
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** The member `key` of `holder` when it is a string. */
export function stringIn(holder: JsonObject | undefined, key: string): string | undefined {
  if (holder === undefined || !Object.hasOwn(holder, key)) return undefined;
  const value = holder[key];
  return typeof value === 'string' ? value : undefined;
}
