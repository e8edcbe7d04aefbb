import { createHash } from 'node:crypto';
import type { JsonObject, Message } from '@thv/transport';
import { declaredCapabilities, isObject, own } from '../meta.js';

/** What a client can be asked: servers may show other tools for it, so that it decides which process serves. */
export interface CapabilityProfile {
  /** Equal for equal profiles. */
  readonly key: string;
  /** As `initialize` of 2025-11-25 declares it. */
  readonly capabilities: JsonObject;
}

/** The profile of a request, from what it declares. */
export function profileOf(message: Message): CapabilityProfile {
  const declared = declaredCapabilities(message);
  const elicitation = own(declared, 'elicitation');
  const sampling = own(declared, 'sampling');
  const capabilities = {
    ...(isObject(elicitation) ? { elicitation: modesOf(elicitation) } : {}),
    ...(isObject(sampling) ? { sampling: pick(sampling, ['tools', 'context']) } : {}),
    ...(isObject(own(declared, 'roots')) ? { roots: {} } : {}),
  };
  return { key: JSON.stringify(capabilities), capabilities };
}

/** A profile that can be asked nothing. */
export const NO_CAPABILITIES: CapabilityProfile = { key: '{}', capabilities: {} };

const modesOf = (declared: JsonObject): JsonObject => {
  const modes = pick(declared, ['form', 'url']);
  return Object.keys(modes).length === 0 ? { form: {} } : modes;
};

const pick = (holder: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(keys.flatMap((key) => (isObject(own(holder, key)) ? [[key, {}]] : [])));

/** A short name for a caller, to keep processes of different callers apart. */
export const ownerOf = (principal: { readonly issuer?: string; readonly subject: string } | undefined): string =>
  principal === undefined
    ? ''
    : createHash('sha256')
        .update(JSON.stringify([principal.issuer ?? null, principal.subject]))
        .digest('base64url');
