import { buildNotification, buildRequest, buildResult, spliceMessage } from '@thv/transport';
import type { Message } from '@thv/transport';
import { INTERNAL_ERROR } from './codes.js';
import type { DispatcherSettings } from './options.js';
import { TIMED_OUT } from './outcome.js';
import type { Failure, Outcome } from './outcome.js';
import { LATEST_LEGACY_VERSION, LEGACY_VERSIONS, objectIn, stringIn } from './revision.js';
import { paramsOf } from './sessions.js';
import type { Upstream } from './upstream.js';

/** What the backend answered to `initialize`. */
export interface Agreement {
  readonly message: Message;
  readonly protocolVersion: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** How an attempt at a handshake ended. */
export type HandshakeResult =
  { readonly ok: true; readonly agreement: Agreement } | { readonly ok: false; readonly outcome: Outcome };

const BAD_REPLY: Failure = {
  reason: 'handshake',
  status: 502,
  code: INTERNAL_ERROR,
  message: 'The MCP server answered initialize with neither a result nor an error',
  data: { reason: 'invalid-initialize-result' },
};

/** Reads the answer to `initialize`. */
export function agreementFrom(outcome: Outcome): HandshakeResult {
  if (outcome.kind !== 'answer' || outcome.message.isError) return { ok: false, outcome };
  const result = objectIn(outcome.message.json(), 'result');
  const protocolVersion = stringIn(result, 'protocolVersion');
  if (result === undefined || protocolVersion === undefined) {
    return { ok: false, outcome: { kind: 'failure', failure: BAD_REPLY } };
  }
  const capabilities = objectIn(result, 'capabilities') ?? {};
  return { ok: true, agreement: { message: outcome.message, protocolVersion, capabilities } };
}

/**
 * The one handshake with a shared backend. All clients get its result: strict servers refuse a second `initialize`.
 * Attempts at the same time share one call; a failure is not kept.
 */
export class Handshake {
  readonly #upstream: Upstream;
  readonly #settings: DispatcherSettings;
  readonly #answers = new Map<string, string>();
  #running: Promise<HandshakeResult> | undefined;
  /** An `initialize` that the backend has and has not answered in time; a second one would confuse it. */
  #overdue: Overdue | undefined;
  #params: Readonly<Record<string, unknown>> | undefined;
  #agreement: Agreement | undefined;

  constructor(upstream: Upstream, settings: DispatcherSettings) {
    this.#upstream = upstream;
    this.#settings = settings;
  }

  /** The agreement, where the backend that runs now has made one. */
  get agreement(): Agreement | undefined {
    return this.#agreement;
  }

  /** Whether any backend of this connection ever agreed. */
  get wasMade(): boolean {
    return this.#params !== undefined;
  }

  /** Makes the handshake, or joins the attempt that runs. */
  run(clientInitialize?: Message): Promise<HandshakeResult> {
    if (this.#agreement !== undefined) return Promise.resolve({ ok: true, agreement: this.#agreement });
    return (this.#running ??= this.#attempt(clientInitialize).finally(() => {
      this.#running = undefined;
    }));
  }

  /** The backend is gone, and with it what it knew. */
  reset(failure: Failure): void {
    this.#agreement = undefined;
    this.#answers.clear();
    this.#overdue?.settle({ kind: 'failure', failure });
    this.#overdue = undefined;
  }

  /** The answer to one client: the version it asked for where that is no newer than the agreed one, else the agreed one. */
  answerFor(initialize: Message, agreement: Agreement): { message: Message; protocolVersion: string } {
    const asked = stringIn(paramsOf(initialize), 'protocolVersion');
    const idText = initialize.idText ?? '0';
    const version = negotiated(asked, agreement.protocolVersion);
    if (version === agreement.protocolVersion) {
      return { message: spliceMessage(agreement.message, { idText }), protocolVersion: version };
    }
    let result = this.#answers.get(version);
    if (result === undefined) {
      result = JSON.stringify({ ...objectIn(agreement.message.json(), 'result'), protocolVersion: version });
      this.#answers.set(version, result);
    }
    return { message: buildResult(idText, JSON.parse(result)), protocolVersion: version };
  }

  async #attempt(clientInitialize: Message | undefined): Promise<HandshakeResult> {
    const params = this.#params ?? this.#paramsFor(clientInitialize);
    const result = agreementFrom(await this.#ask(params));
    if (!result.ok) return result;
    this.#params = params;
    this.#agreement = result.agreement;
    this.#upstream.write(buildNotification('notifications/initialized'));
    return result;
  }

  /** A server that is still being downloaded may take longer than a request: its late answer is as good as any. */
  async #ask(params: Readonly<Record<string, unknown>>): Promise<Outcome> {
    const overdue = this.#overdue;
    if (overdue !== undefined) {
      const outcome = await this.#inTime(overdue.outcome);
      if (!isTimeout(outcome)) this.#overdue = undefined;
      return outcome;
    }
    const late = createOverdue();
    const outcome = await this.#upstream.call(buildRequest('initialize', params), {
      onLate: (message) => late.settle({ kind: 'answer', message }),
    });
    if (isTimeout(outcome)) this.#overdue = late;
    return outcome;
  }

  #inTime(outcome: Promise<Outcome>): Promise<Outcome> {
    const { clock, timesOf } = this.#settings;
    return new Promise((resolve) => {
      const stop = clock.setTimer(timesOf('initialize').timeoutMs, () =>
        resolve({ kind: 'failure', failure: TIMED_OUT }),
      );
      void outcome.then((known) => {
        stop();
        resolve(known);
      });
    });
  }

  #paramsFor(clientInitialize: Message | undefined): Readonly<Record<string, unknown>> {
    if (this.#settings.handshake === 'first-client' && clientInitialize !== undefined)
      return paramsOf(clientInitialize);
    return { protocolVersion: LATEST_LEGACY_VERSION, capabilities: {}, clientInfo: this.#settings.clientInfo };
  }
}

interface Overdue {
  readonly outcome: Promise<Outcome>;
  settle(outcome: Outcome): void;
}

function createOverdue(): Overdue {
  let settle: (outcome: Outcome) => void = () => undefined;
  const outcome = new Promise<Outcome>((resolve) => {
    settle = resolve;
  });
  return { outcome, settle };
}

const isTimeout = (outcome: Outcome): boolean => outcome.kind === 'failure' && outcome.failure.reason === 'timeout';

/** The version for a client: its own where we know it and it is no newer than what the backend speaks. */
function negotiated(asked: string | undefined, agreed: string): string {
  if (asked === undefined) return agreed;
  const own = LEGACY_VERSIONS.indexOf(asked);
  const backend = LEGACY_VERSIONS.indexOf(agreed);
  return own >= 0 && own <= backend ? asked : agreed;
}
