import { CLIENT_CAPABILITIES_META_KEY, ProtocolError } from '@modelcontextprotocol/server';
import type { ServerContext } from '@modelcontextprotocol/server';
import { INVALID_STATE } from './state/codec.js';
import type { StateBinding, StateCodec, StatePrincipal } from './state/codec.js';
import type { RoundsServer } from './rounds.js';
import type { ClientCapabilities, InputRequiringMethod, JsonObject, JsonValue } from './types.js';

/** What the SDK's context does not say by itself. */
export interface SdkOptions {
  /** Who is authenticated. @defaultValue the client with `extra.sub` of the access token, or with the token itself */
  readonly principalOf?: (context: ServerContext) => StatePrincipal | undefined;
  /** Capabilities of a client of an earlier revision, which says them once: `() => server.getClientCapabilities()`. */
  readonly legacyCapabilities?: () => ClientCapabilities | undefined;
}

/**
 * A handler for `server.setRequestHandler('tools/call', …)` of `@modelcontextprotocol/server`, version 2, and its
 * likes for prompts and resources, made of {@link rounds}. Leave `ServerOptions.requestState` unset: the rounds open
 * their state themselves, bound to the parameters too.
 */
export function sdkHandler(
  server: RoundsServer,
  { principalOf = tokenOwner, legacyCapabilities }: SdkOptions = {},
): (request: { readonly method: string; readonly params?: unknown }, context: ServerContext) => Promise<JsonObject> {
  return async ({ method, params }, context) => {
    const { envelope, inputResponses, requestState } = context.mcpReq;
    const state = requestState<string>();
    const whole = {
      ...(params as JsonObject | undefined),
      ...(inputResponses === undefined ? {} : { inputResponses: inputResponses as JsonObject }),
      ...(state === undefined ? {} : { requestState: state }),
    };
    const declared = (envelope as JsonObject | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ?? legacyCapabilities?.();
    const served = await server(whole, {
      method: method as InputRequiringMethod,
      capabilities: declared as ClientCapabilities | undefined,
      principal: principalOf(context),
    });
    if (served.kind === 'result') return served.result;
    throw new ProtocolError(served.error.code, served.error.message, served.error.data);
  };
}

/** The pair that the SDK's own way of keeping state wants. */
export interface SdkStateCodec {
  /** Seals what a handler gives to `inputRequired({ requestState })`. */
  mint(payload: JsonValue, context: ServerContext): Promise<string>;
  /** For `ServerOptions.requestState.verify`. */
  verify(state: string, context: ServerContext): Promise<JsonValue>;
}

/**
 * Our codec in the place of the SDK's: encrypted, with rotating keys and a deadline for the whole flow. The SDK shows
 * no parameters to `verify`, so that these states are bound to caller, method and audience alone.
 */
export function sdkStateCodec(codec: StateCodec, audience: string, options: SdkOptions = {}): SdkStateCodec {
  const { principalOf = tokenOwner } = options;
  const binding = (context: ServerContext): StateBinding => ({
    principal: principalOf(context),
    method: context.mcpReq.method,
    params: {},
    audience,
  });
  return {
    mint: (payload, context) => codec.seal(payload, binding(context)),
    async verify(state, context) {
      const opened = await codec.open(state, binding(context));
      if (opened.kind === 'opened') return opened.payload;
      throw new ProtocolError(INVALID_STATE.code, opened.reason);
    },
  };
}

/** Many users share one OAuth client. Where the token says no user, it stands for its user itself, until it is renewed. */
const tokenOwner = (context: ServerContext): StatePrincipal | undefined => {
  const info = context.http?.authInfo;
  if (info === undefined) return undefined;
  const user = info.extra?.['sub'];
  return { issuer: info.clientId, subject: typeof user === 'string' ? `sub ${user}` : `token ${info.token}` };
};
