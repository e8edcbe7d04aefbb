import { parseMessage } from '@thv/transport';
import type { Connection, ConnectionDown, ConnectionHandlers, ConnectionState, Message } from '@thv/transport';

type Json = Record<string, unknown>;

/** A backend in the hands of a test: what it is sent is recorded, what it says is what the test says. */
export class FakeConnection implements Connection {
  state: ConnectionState = 'idle';
  readonly sent: Json[] = [];
  readonly raw: Buffer[] = [];
  paused = false;
  /** When true, `send` says that the pipe is full. */
  full = false;
  /** Answers `initialize` by itself. */
  initializeResult: Json | undefined = {
    protocolVersion: '2025-11-25',
    capabilities: {
      logging: {},
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: {},
    },
    serverInfo: { name: 'fake', version: '1.0.0' },
  };
  startError: Error | undefined;
  closed = 0;
  #handlers: ConnectionHandlers | undefined;
  #drained: (() => void)[] = [];

  async start(handlers: ConnectionHandlers): Promise<void> {
    this.#handlers = handlers;
    await Promise.resolve();
    if (this.startError !== undefined) throw this.startError;
    this.up();
  }

  send(message: Message): boolean {
    const json = JSON.parse(message.bytes.toString()) as Json;
    this.sent.push(json);
    this.raw.push(message.bytes);
    if (json['method'] === 'initialize' && this.initializeResult !== undefined) {
      queueMicrotask(() => this.say({ jsonrpc: '2.0', id: json['id'], result: this.initializeResult }));
    }
    return !this.full;
  }

  drained(): Promise<void> {
    return this.full ? new Promise((resolve) => this.#drained.push(resolve)) : Promise.resolve();
  }

  drain(): void {
    this.full = false;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  async close(): Promise<void> {
    this.closed++;
    if (this.state === 'closed') return;
    const wasUp = this.state === 'up';
    this.state = 'closed';
    if (wasUp) this.#handlers?.onDown({ reason: 'closed', stderrTail: [] });
  }

  up(): void {
    this.state = 'up';
    this.#handlers?.onUp();
  }

  down(down: Partial<ConnectionDown> = {}): void {
    this.state = down.retryAfterMs === undefined ? 'closed' : 'restarting';
    this.#handlers?.onDown({ reason: 'exit', exitCode: 1, signal: null, stderrTail: [], ...down });
  }

  say(json: Json | string, origin?: string): void {
    const bytes = Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
    this.#handlers?.onMessage(parseMessage(bytes), origin);
  }

  noise(text: string): void {
    this.#handlers?.onNoise?.(text);
  }

  oversize(idText: string | undefined, bytes: number): void {
    this.#handlers?.onOversize?.(idText, bytes);
  }

  /** Everything sent with that method, oldest first. */
  of(method: string): Json[] {
    return this.sent.filter((json) => json['method'] === method);
  }

  /** The newest request with that method. */
  last(method: string): Json {
    const found = this.of(method).at(-1);
    if (found === undefined) throw new Error(`Nothing was sent with the method ${method}`);
    return found;
  }

  answer(method: string, result: Json = {}): void {
    this.say({ jsonrpc: '2.0', id: this.last(method)['id'], result });
  }
}
