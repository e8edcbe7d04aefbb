import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { locked } from '../locked.js';
import { lockName } from './context.js';
import type { ServiceContext } from './context.js';
import { recover, Transaction } from './transaction.js';
import { translate } from './translate.js';

/** A change of another process may take as long as a download. */
const WAIT_MS = 600_000;

/**
 * Runs changes of one project, or of the user scope, while no other process makes any; what a killed process left
 * half done is undone first. Changes in one process wait for one another too.
 */
export async function exclusively<T>(
  context: ServiceContext,
  projectRoot: string | undefined,
  action: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const name = lockName(projectRoot);
  const folder = join(context.stateFolder, 'skills-locks');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return await locked(
    join(folder, `${name}.lock`),
    async () => {
      await recover(context, name);
      return await action();
    },
    { timeoutMs: WAIT_MS, ...(signal ? { signal } : {}) },
  );
}

/** Runs steps that stand together: committed when `action` resolves, undone when it rejects. */
export async function inTransaction<T>(
  context: ServiceContext,
  projectRoot: string | undefined,
  action: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const transaction = new Transaction(context, lockName(projectRoot));
  let result: T;
  try {
    result = await action(transaction);
  } catch (error) {
    throw await transaction.rollback(translate(error));
  }
  await transaction.commit();
  return result;
}
