import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../ports.js';

/** What {@link runBridge} joins. */
export interface BridgeOptions {
  /** The endpoint. */
  readonly url: string;
  /** @defaultValue 'streamable-http' */
  readonly transport?: 'streamable-http' | 'sse';
  /** One message a line, from the client. */
  readonly input: Readable;
  /** One message a line, to the client; nothing else is written to it. */
  readonly output: Writable;
  /** Aborted to end the bridge. */
  readonly signal?: AbortSignal;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Certificates in PEM that are trusted besides those of the system. */
  readonly caBundle?: readonly string[];
  /** How long requests may still be answered when the input is over. @defaultValue 10000 */
  readonly drainMs?: number;
  /** Time before a lost stream is opened again; doubles up to 30 s. @defaultValue 1000 */
  readonly retryDelayMs?: number;
  /** @defaultValue 67108864 */
  readonly maxLineBytes?: number;
  readonly clock?: Clock;
  /** What went wrong and what is done about it. */
  readonly onEvent?: (text: string) => void;
}

/** How a bridge ended. */
export type BridgeOutcome =
  /** The client closed its side, or the signal was aborted. */
  | { readonly kind: 'ended' }
  /** The endpoint could not be reached, or not be talked to. */
  | { readonly kind: 'failed'; readonly message: string };
