import { createChannel } from '@thv/dispatcher';
import type { Channel, ChannelOptions, Exchange, Failure, Outcome, Reply } from '@thv/dispatcher';
import { LATEST_LEGACY_VERSION } from '@thv/dispatcher';
import { RPC_CODES, buildError, buildNotification, buildRequest, buildResult } from '@thv/transport';
import type { Connection, Message } from '@thv/transport';
import { isObject, own } from '../meta.js';
import { describeLegacy } from '../modern/shared-legacy.js';
import { refused } from '../replies.js';
import type { ServerDescription } from '../server.js';
import type { CapabilityProfile } from './profile.js';

/** Who holds a process, and hears what it asks and tells meanwhile. */
export interface Holder {
  asked(message: Message): void;
  told(message: Message): void;
}

/** One server process of the older era, opened with the capabilities of a profile. */
export class LeasedProcess {
  readonly profile: CapabilityProfile;
  readonly owner: string;
  description: ServerDescription = { capabilities: {} };
  holder: Holder | undefined;
  /** When it was last used. */
  idleSince = 0;
  readonly #channel: Channel;
  readonly #onDown: () => void;
  #down: Failure | undefined;
  #level: string | undefined;

  constructor(
    connection: Connection,
    options: { readonly profile: CapabilityProfile; readonly owner: string; readonly channel: ChannelOptions },
    onDown: () => void,
  ) {
    this.profile = options.profile;
    this.owner = options.owner;
    this.#onDown = onDown;
    this.#channel = createChannel(connection, options.channel, {
      onMessage: (message) => this.#receive(message),
      onDown: (_down, failure) => this.#ended(failure),
    });
  }

  /** Why it cannot be used any more. */
  get ended(): Failure | undefined {
    return this.#down;
  }

  /** Starts it and makes the handshake; answers what is wrong, or nothing. */
  async open(clientInfo: { readonly name: string; readonly version: string }): Promise<Failure | undefined> {
    try {
      await this.#channel.start();
    } catch (error) {
      const text = `The MCP server could not be started: ${error instanceof Error ? error.message : String(error)}`;
      return refused(503, RPC_CODES.internalError, text, { reason: 'start-failed' });
    }
    const params = { protocolVersion: LATEST_LEGACY_VERSION, capabilities: this.profile.capabilities, clientInfo };
    const outcome = await this.#channel.call(buildRequest('initialize', params));
    if (outcome.kind === 'failure') return outcome.failure;
    const result = outcome.kind === 'answer' ? own(outcome.message.json(), 'result') : undefined;
    if (!isObject(result)) return refused(502, RPC_CODES.internalError, 'The MCP server refused initialize');
    this.#channel.write(buildNotification('notifications/initialized'));
    const capabilities = own(result, 'capabilities');
    const serverInfo = own(result, 'serverInfo');
    const instructions = own(result, 'instructions');
    this.description = describeLegacy({
      capabilities: isObject(capabilities) ? capabilities : {},
      serverInfo: isObject(serverInfo) ? serverInfo : undefined,
      instructions: typeof instructions === 'string' ? instructions : undefined,
    });
    this.#logging = isObject(capabilities) && isObject(own(capabilities, 'logging'));
    return undefined;
  }

  #logging = false;

  request(message: Message, reply: Reply): Exchange | undefined {
    return this.#channel.request(message, reply);
  }

  call(message: Message): Promise<Outcome> {
    return this.#channel.call(message);
  }

  /** An answer to a request of the server. */
  write(message: Message): void {
    this.#channel.write(message);
  }

  /** Sets the level of the server's log, where it has one and it is another. */
  async setLevel(level: string | undefined): Promise<void> {
    if (level === undefined || level === this.#level || !this.#logging) return;
    this.#level = level;
    await this.#channel.call(buildRequest('logging/setLevel', { level }));
  }

  async close(): Promise<void> {
    await this.#channel.close();
  }

  #receive(message: Message): void {
    if (message.kind === 'notification') {
      this.holder?.told(message);
    } else if (message.method === 'ping') {
      this.#channel.write(buildResult(message.idText ?? '0', {}));
    } else if (this.holder === undefined) {
      const text = `${message.method ?? ''} outside of a request cannot be answered here`;
      this.#channel.write(buildError(message.idText ?? '0', { code: RPC_CODES.methodNotFound, message: text }));
    } else {
      this.holder.asked(message);
    }
  }

  #ended(failure: Failure): void {
    this.#down = failure;
    this.#onDown();
  }
}
