import type { CompiledQuery, Kysely } from 'kysely';
import { leaseLost } from './listing.js';
import type { Lease } from './port.js';
import type { Tables } from './schema.js';

/** The statements of one commit; the first is its fence. */
export type CommitBatch = readonly CompiledQuery[];

/**
 * Writes commits in one transaction. A commit whose fence changes no row leaves no trace; the answer says for each
 * whether it is written.
 */
export type GroupWriter = (group: readonly CommitBatch[]) => Promise<readonly boolean[]>;

/** The writer for any database. */
export function transactionWriter(db: Kysely<Tables>): GroupWriter {
  return (group) =>
    db.transaction().execute(async (transaction) => {
      const written: boolean[] = [];
      for (const [fence, ...changes] of group) {
        const passed = fence !== undefined && (await transaction.executeQuery(fence)).numAffectedRows === 1n;
        if (passed) for (const change of changes) await transaction.executeQuery(change);
        written.push(passed);
      }
      return written;
    });
}

interface PendingCommit {
  readonly lease: Lease;
  readonly batch: CommitBatch;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Puts commits that come at about the same time into one transaction: on a disk that must be asked for durability the
 * flush costs more than all statements. A group that fails as a whole is tried again one by one, so that one run's bad
 * value is not another run's failure.
 */
export class GroupCommit {
  readonly #write: GroupWriter;
  readonly #maxGroup: number;
  #waiting: PendingCommit[] = [];
  #busy: Promise<void> | undefined;

  constructor(write: GroupWriter, maxGroup = 500) {
    this.#write = write;
    this.#maxGroup = maxGroup;
  }

  add(lease: Lease, batch: CommitBatch): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ lease, batch, resolve, reject });
      this.#busy ??= this.#work();
    });
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    while (this.#busy !== undefined) await this.#busy;
  }

  async #work(): Promise<void> {
    // One turn of the event loop is enough for what finished at the same time to come in.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    while (this.#waiting.length > 0) await this.#writeGroup(this.#waiting.splice(0, this.#maxGroup));
    this.#busy = undefined;
  }

  async #writeGroup(group: readonly PendingCommit[]): Promise<void> {
    try {
      const written = await this.#write(group.map(({ batch }) => batch));
      for (const [index, { lease, resolve, reject }] of group.entries()) {
        if (written[index] === true) resolve();
        else reject(leaseLost(lease));
      }
    } catch (error) {
      if (group.length === 1) group[0]?.reject(error);
      else for (const pending of group) await this.#writeGroup([pending]);
    }
  }
}
