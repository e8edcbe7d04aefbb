import type { Dispatcher, Failure, ListenFilter, Listener, Listening, Reply } from '@thv/dispatcher';
import { INVALID_STATE } from '@thv/mrtr';
import type { JsonObject, Message, RequestContext } from '@thv/transport';
import { declaredCapabilities, isObject, own } from '../meta.js';
import { MappedReply, refused } from '../replies.js';
import { isFailure } from '../server.js';
import type { ModernServer, ServerDescription } from '../server.js';
import { toLegacyRequest } from './requests.js';
import { toModernOutcome } from './results.js';

/** A shared server of an older revision: requests without a session, nobody is asked anything. */
export function createSharedLegacyServer(
  dispatcher: Dispatcher,
  options: { readonly cacheScope: 'public' | 'private' },
): ModernServer {
  return new SharedLegacyServer(dispatcher, options.cacheScope);
}

class SharedLegacyServer implements ModernServer {
  onToolsChanged: (() => void) | undefined;
  readonly #dispatcher: Dispatcher;
  readonly #cacheScope: 'public' | 'private';
  #serverInfo: string | undefined;
  #watches = false;

  constructor(dispatcher: Dispatcher, cacheScope: 'public' | 'private') {
    this.#dispatcher = dispatcher;
    this.#cacheScope = cacheScope;
  }

  async discover(context?: RequestContext): Promise<ServerDescription | Failure> {
    const agreement = await this.#dispatcher.agreement({ session: undefined, principal: context?.principal });
    if (isFailure(agreement)) return agreement;
    const description = describeLegacy(agreement);
    this.#serverInfo = description.serverInfo === undefined ? undefined : JSON.stringify(description.serverInfo);
    return description;
  }

  request(message: Message, reply: Reply, context: RequestContext): void {
    this.#watchTools(context);
    const method = message.method ?? '';
    // No state was ever handed out here, so whatever comes is not ours.
    if (own(message.json()['params'], 'requestState') !== undefined) {
      reply.settle({
        kind: 'failure',
        failure: refused(400, INVALID_STATE.code, INVALID_STATE.message, INVALID_STATE.data),
      });
      return;
    }
    const mapped = new MappedReply(reply, (outcome) =>
      toModernOutcome(outcome, method, {
        serverInfo: this.#serverInfo,
        cacheScope: this.#cacheScope,
        takesUrls: isObject(own(own(declaredCapabilities(message), 'elicitation'), 'url')),
      }),
    );
    const origin = { session: undefined, principal: context.principal, cancelWhenGone: true };
    this.#dispatcher.request(toLegacyRequest(message), mapped, origin);
  }

  listen(filter: ListenFilter, listener: Listener, context: RequestContext): Promise<Listening | Failure> {
    return this.#dispatcher.listen(filter, listener, { session: undefined, principal: context.principal });
  }

  async close(): Promise<void> {
    // The dispatcher belongs to the gateway.
  }

  /** Once: the description for results, and the news that the tools are others. */
  #watchTools(context: RequestContext): void {
    if (this.#watches) return;
    this.#watches = true;
    const listener = { send: () => this.onToolsChanged?.(), end: () => undefined };
    void this.discover(context).then(() =>
      this.#dispatcher.listen({ toolsListChanged: true }, listener, {
        session: undefined,
        principal: context.principal,
      }),
    );
  }
}

/** What a server of an older revision said of itself, without what the newer one does not have. */
export function describeLegacy(agreement: {
  readonly capabilities: JsonObject;
  readonly serverInfo: JsonObject | undefined;
  readonly instructions: string | undefined;
}): ServerDescription {
  const { logging: _logging, tasks: _tasks, ...capabilities } = agreement.capabilities;
  return {
    capabilities,
    ...(agreement.serverInfo === undefined ? {} : { serverInfo: agreement.serverInfo }),
    ...(agreement.instructions === undefined ? {} : { instructions: agreement.instructions }),
  };
}
