import type { Failure, Outcome, Reply } from '@thv/dispatcher';
import { RPC_CODES } from '@thv/transport';
import type { Message } from '@thv/transport';

/** Codes whose HTTP status is not 200 in 2026-07-28. */
const STATUS_OF = new Map<unknown, number>([
  [RPC_CODES.methodNotFound, 404],
  [RPC_CODES.headerMismatch, 400],
  [RPC_CODES.capabilityRequired, 400],
  [RPC_CODES.unsupportedVersion, 400],
]);

/** A refusal with its own status, before anything was sent. */
export const refused = (status: number, code: number, message: string, data?: Failure['data']): Failure => ({
  reason: 'refused',
  status,
  code,
  message,
  ...(data === undefined ? {} : { data }),
});

/** A fault of ours, or of a server in this process. */
export const FAULT = refused(500, RPC_CODES.internalError, 'Internal error', { reason: 'internal' });

/** The outcome for an error of a server, with the status that 2026-07-28 wants for it. */
export function outcomeOfError(message: Message): Outcome {
  const error = message.json()['error'] as { code: number; message: string; data?: Failure['data'] } | undefined;
  const status = STATUS_OF.get(error?.code);
  if (error === undefined || status === undefined) return { kind: 'answer', message };
  return { kind: 'failure', failure: refused(status, error.code, error.message, error.data) };
}

/** A reply that changes what passes through another one. */
export class PassingReply implements Reply {
  readonly inner: Reply;

  constructor(inner: Reply) {
    this.inner = inner;
  }

  get streams(): boolean {
    return this.inner.streams;
  }

  get open(): boolean {
    return this.inner.open;
  }

  get bufferedBytes(): number {
    return this.inner.bufferedBytes;
  }

  set onGone(callback: (() => void) | undefined) {
    this.inner.onGone = callback;
  }

  set onDrain(callback: (() => void) | undefined) {
    this.inner.onDrain = callback;
  }

  send(message: Message): boolean {
    return this.inner.send(message);
  }

  keepAlive(): void {
    this.inner.keepAlive();
  }

  settle(outcome: Outcome): void {
    this.inner.settle(outcome);
  }
}

/** A reply that hands its outcome to a function. */
export class MappedReply extends PassingReply {
  readonly #map: (outcome: Outcome) => Outcome;

  constructor(inner: Reply, map: (outcome: Outcome) => Outcome) {
    super(inner);
    this.#map = map;
  }

  override settle(outcome: Outcome): void {
    this.inner.settle(this.#map(outcome));
  }
}
