import type { JsonObject } from './json.js';

/** Time in milliseconds, so that a test needs no sleep. */
export interface Clock {
  /** Milliseconds since 1970 UTC. */
  now(): number;
  /** Calls back once after `delayMs`; the answer cancels and may be called more than once. */
  setTimer(delayMs: number, callback: () => void): () => void;
}

/** Where randomness comes from. */
export interface Random {
  /** A number in [0, 1), for the jitter of retries. */
  next(): number;
  /** A version 4 UUID, for the ids of runs and engines. */
  uuid(): string;
}

/** On whose behalf a run executes. Runs and cache entries of one principal are never those of another. */
export interface Principal {
  /** Stable and unique within the issuer. */
  readonly subject: string;
  readonly issuer?: string;
  /** Keeps the idempotency keys of several customers apart. */
  readonly tenant?: string;
}

/** Hints about a tool, as the Model Context Protocol names them. */
export interface ToolHints {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** What is known of a tool before it is called. */
export interface ToolInfo {
  /** The backend's own name of the tool. */
  readonly name: string;
  /** The backend; absent where there is only one. */
  readonly workload?: string;
  /** JSON Schema of the arguments; expanded text is coerced to its types. */
  readonly inputSchema?: JsonObject;
  readonly annotations?: ToolHints;
}

/** One attempt at calling a tool. */
export interface ToolCall {
  /** The reference as the definition has it. */
  readonly reference: string;
  /** What {@link ToolCaller.resolve} answered. */
  readonly tool: ToolInfo;
  /** Expanded and coerced; not to be changed. */
  readonly arguments: JsonObject;
  readonly runId: string;
  readonly stepId: string;
  /** Index of the iteration of a `forEach` step. */
  readonly iteration: number | undefined;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /**
   * The same for every attempt and after a crash: a backend that remembers it makes the step happen once.
   * To be sent as `_meta["toolhive.dev/idempotencyKey"]`.
   */
  readonly idempotencyKey: string;
  readonly principal: Principal | undefined;
  /** Aborted on timeout, cancellation and failure of a sibling. Made when first read. */
  readonly signal: AbortSignal;
}

/** An item of a tool's content. */
export type ToolContent = JsonObject;

/** What a tool answered, in the shape of the Model Context Protocol. */
export interface ToolResult {
  readonly content?: readonly ToolContent[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

/** Finds and calls tools. */
export interface ToolCaller {
  /** Looks a reference up; `undefined` where no such tool exists. Asked once a run for each reference. */
  resolve(
    reference: string,
    context: { readonly principal: Principal | undefined },
  ): ToolInfo | undefined | Promise<ToolInfo | undefined>;
  /**
   * Calls the tool. A rejection is a failure worth a retry, unless the error has `retryable: false`;
   * `retryAfterMs` on it sets the least delay. A call may outlive the step: its outcome is then ignored.
   */
  call(call: ToolCall): Promise<ToolResult>;
}

/** A question to the user. */
export interface ElicitRequest {
  readonly runId: string;
  readonly stepId: string;
  readonly message: string;
  /** JSON Schema of an object, never of a bare primitive. */
  readonly schema: JsonObject;
  /** Milliseconds that are left to answer. */
  readonly timeoutMs: number;
  readonly principal: Principal | undefined;
  readonly signal: AbortSignal;
}

/**
 * An answer to a question. `unsupported`: this user cannot be asked. `pending`: the question is on its way and the
 * answer comes through `engine.answer`.
 */
export type ElicitAnswer =
  | { readonly action: 'accept'; readonly content?: JsonObject | undefined }
  | { readonly action: 'decline' | 'cancel' | 'unsupported' | 'pending' };

/** Asks the user. */
export interface Elicitor {
  elicit(request: ElicitRequest): Promise<ElicitAnswer>;
}
