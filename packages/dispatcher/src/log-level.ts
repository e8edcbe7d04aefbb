import { buildRequest } from '@thv/transport';
import type { Outcome } from './outcome.js';
import type { ClientSession } from './sessions.js';

/** The levels of RFC 5424, least verbose first. */
const LEVELS: readonly string[] = ['emergency', 'alert', 'critical', 'error', 'warning', 'notice', 'info', 'debug'];

/** The rank of a level: more verbose is larger; `undefined` for an unknown one. */
export function rankOf(level: unknown): number | undefined {
  const rank = typeof level === 'string' ? LEVELS.indexOf(level) : -1;
  return rank < 0 ? undefined : rank;
}

/**
 * Keeps one shared backend at the most verbose level that any session asked for. Calls run one after another and the
 * latest wish wins, so that two quick changes cannot arrive in the wrong order.
 */
export class LogLevelReconciler {
  readonly #sessions: () => Iterable<ClientSession>;
  readonly #call: (level: string) => Promise<Outcome>;
  #sent: number | undefined;
  #running = false;

  constructor(sessions: () => Iterable<ClientSession>, call: (level: string) => Promise<Outcome>) {
    this.#sessions = sessions;
    this.#call = call;
  }

  /** Brings the backend to the wish of the sessions; a purge of a session never lowers it. */
  reconcile(): void {
    if (this.#running) return;
    void this.#run();
  }

  /** The backend is new: it knows no level. */
  reset(): void {
    this.#sent = undefined;
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      for (let wish = this.#wish(); wish !== undefined && wish !== this.#sent; wish = this.#wish()) {
        const rank = wish;
        this.#sent = rank;
        const outcome = await this.#call(LEVELS[rank] ?? 'debug');
        if (outcome.kind !== 'answer') return;
      }
    } finally {
      this.#running = false;
    }
  }

  #wish(): number | undefined {
    let max: number | undefined;
    for (const { logRank } of this.#sessions()) {
      if (logRank !== undefined && (max === undefined || logRank > max)) max = logRank;
    }
    return max;
  }
}

/** The request that sets a level. */
export const setLevelRequest = (level: string) => buildRequest('logging/setLevel', { level });
