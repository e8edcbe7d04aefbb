import { printable, readLock, references } from '@thv/skills-lock';
import type { SyncResult, UpgradeOutcome } from '@thv/skills-lock';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { exitCodes } from '../../exit.js';
import { confirm } from '../../prompt.js';
import { withSkills } from './open-service.js';
import { requireProjectRoot } from './shared.js';

interface LockFlags {
  readonly projectRoot?: string;
  readonly clients?: readonly string[];
  readonly yes?: boolean;
  readonly format: 'text' | 'json';
}

export interface SyncFlags extends LockFlags {
  readonly check?: boolean;
  readonly prune?: boolean;
  readonly adopt?: boolean;
  readonly allowUnsigned?: boolean;
}

export interface UpgradeFlags extends LockFlags {
  readonly preview?: boolean;
  readonly failOnChanges?: boolean;
  readonly allowRefChange?: boolean;
  readonly allowSignerChange?: boolean;
}

/** `thv skill sync` */
export async function syncSkills(flags: SyncFlags, context: CliContext): Promise<void> {
  const projectRoot = await requireProjectRoot(context, flags.projectRoot);
  if (!flags.check && !(await mayGoOn('Sync skills', 'Sync cancelled.', projectRoot, flags, context))) return;
  await warnOfUnknownTrust(projectRoot, context);
  const result = await withSkills(context, (service) =>
    service.sync(
      {
        project_root: projectRoot,
        ...(flags.clients ? { clients: flags.clients } : {}),
        check: flags.check ?? false,
        prune: flags.prune ?? false,
        adopt: flags.adopt ?? false,
        allow_unsigned: flags.allowUnsigned ?? false,
      },
      { signal: context.signal },
    ),
  );
  if (flags.format === 'json') context.json(result);
  else printSync(result, context);
  if (result.failed.length > 0) context.exitCode = exitCodes.operational;
  else if (flags.check && result.drifted.length + result.missing.length > 0) context.exitCode = exitCodes.check;
}

function printSync(result: SyncResult, context: CliContext): void {
  const group = (title: string, names: readonly string[]) => {
    if (names.length === 0) return;
    context.out(`${title}:`);
    for (const name of names) context.out(`  ${printable(name)}`);
  };
  const { installed, drifted } = result;
  group(
    'Installed',
    installed.filter((name) => !drifted.includes(name)),
  );
  group(
    'Repaired',
    installed.filter((name) => drifted.includes(name)),
  );
  group(
    'Drifted',
    drifted.filter((name) => !installed.includes(name)),
  );
  for (const [name, reasons] of Object.entries(result.drift))
    for (const reason of reasons) context.note(`  ${printable(`${name}: ${reason}`)}`);
  group(
    'Missing',
    result.missing.filter((name) => !result.installed.includes(name)),
  );
  group('Up to date', result.already_current);
  group('Adopted', result.adopted);
  group('Never managed (use --adopt to record)', result.never_managed);
  group(
    'Removed from lock (use --prune to remove)',
    result.removed_from_lock.filter((name) => !result.pruned.includes(name)),
  );
  group('Pruned', result.pruned);
  if (result.failed.length > 0) context.out('Failed:');
  for (const { name, reason, error } of result.failed)
    context.out(printable(`  ${name} [${reason}]: ${error.replaceAll('\n', ' ')}`));
  const empty = Object.values(result).every((value) => !Array.isArray(value) || value.length === 0);
  if (empty) context.out('Nothing to sync — the project matches its lock file');
}

/** `thv skill upgrade` */
export async function upgradeSkills(names: readonly string[], flags: UpgradeFlags, context: CliContext): Promise<void> {
  const projectRoot = await requireProjectRoot(context, flags.projectRoot);
  const planOnly = flags.preview === true || flags.failOnChanges === true;
  const upgrade = async (preview: boolean): Promise<readonly UpgradeOutcome[]> => {
    const request = {
      project_root: projectRoot,
      ...(names.length > 0 ? { names } : {}),
      ...(flags.clients ? { clients: flags.clients } : {}),
      preview,
      fail_on_changes: flags.failOnChanges ?? false,
      allow_ref_change: flags.allowRefChange ?? false,
      allow_signer_change: flags.allowSignerChange ?? false,
    };
    return (await withSkills(context, (service) => service.upgrade(request, { signal: context.signal }))).outcomes;
  };
  // Who is asked sees the new digests first; where nobody can be asked, the network is left alone.
  let shown: readonly UpgradeOutcome[] | undefined;
  const show = async (): Promise<void> => {
    shown = await upgrade(true);
    for (const outcome of shown) context.warn(printable(`  ${upgradeLine(outcome, true)}`));
  };
  if (!planOnly && !(await mayGoOn('Upgrade skills', 'Upgrade cancelled.', projectRoot, flags, context, show))) return;
  await warnOfUnknownTrust(projectRoot, context);
  const outcomes = await upgrade(flags.preview ?? false);
  warnOfLateChanges(shown, outcomes, context);
  const result = { outcomes };
  if (flags.format === 'json') context.json(result);
  else if (result.outcomes.length === 0) context.out("No skills in the project's lock file");
  else for (const outcome of result.outcomes) context.out(printable(upgradeLine(outcome, planOnly)));
  finishUpgrade(result.outcomes, flags, planOnly, context);
}

/** A tag may move between the question and the answer. */
function warnOfLateChanges(
  shown: readonly UpgradeOutcome[] | undefined,
  outcomes: readonly UpgradeOutcome[],
  context: CliContext,
): void {
  for (const { name, new_digest: digest } of outcomes) {
    const before = shown?.find((outcome) => outcome.name === name)?.new_digest;
    if (shown === undefined || before === digest) continue;
    context.warn(
      printable(`${name}: moved while you were asked: ${before ?? 'no upgrade'} was shown, now ${digest ?? 'none'}`),
    );
  }
}

function upgradeLine(outcome: UpgradeOutcome, planOnly: boolean): string {
  const { name, old_digest: before = '', new_digest: after = '' } = outcome;
  switch (outcome.status) {
    case 'upgraded':
      return `${name}: ${planOnly ? 'would upgrade' : 'upgraded'} ${before} -> ${after}${outcome.downgraded ? ' (no longer signed)' : ''}`;
    case 'up-to-date':
      return `${name}: up to date`;
    case 'not-upgradable':
      return `${name}: not upgradable (pinned to an immutable reference)`;
    case 'ref-change-blocked':
      return `${name}: reference change blocked (would move to ${outcome.new_resolved_reference ?? ''}; use --allow-ref-change)`;
    case 'signer-change-blocked':
      return `${name}: signer change blocked (candidate is ${outcome.new_signer_identity || 'unsigned'}; use --allow-signer-change)`;
    case 'failed':
      return `${name}: failed [${outcome.reason ?? 'unknown'}]: ${(outcome.error ?? '').replaceAll('\n', ' ')}`;
  }
}

/** A failure beats everything; a gate that found something comes before a guard that did its work. */
function finishUpgrade(
  outcomes: readonly UpgradeOutcome[],
  flags: UpgradeFlags,
  planOnly: boolean,
  context: CliContext,
): void {
  const count = (...statuses: readonly UpgradeOutcome['status'][]) =>
    outcomes.filter(({ status }) => statuses.includes(status)).length;
  const stale = count('upgraded', 'ref-change-blocked', 'signer-change-blocked');
  if (count('failed') > 0) {
    context.exitCode = exitCodes.operational;
  } else if (flags.failOnChanges && stale > 0) {
    context.exitCode = exitCodes.check;
    context.warn(`${stale} skill(s) would change; the lock file is stale`);
  } else if (!planOnly && count('signer-change-blocked') > 0) {
    context.exitCode = exitCodes.refused;
    context.warn(`${count('signer-change-blocked')} skill(s) blocked by a signer change; use --allow-signer-change`);
  } else if (!planOnly && count('ref-change-blocked') > 0) {
    context.exitCode = exitCodes.refused;
    context.warn(`${count('ref-change-blocked')} skill(s) blocked by a reference change; use --allow-ref-change`);
  }
}

/** Skills are instructions that an assistant follows, so that a person says yes before they change. */
async function mayGoOn(
  action: string,
  cancelled: string,
  projectRoot: string,
  flags: LockFlags,
  context: CliContext,
  show?: () => Promise<void>,
): Promise<boolean> {
  if (flags.yes) return true;
  await printSummary(projectRoot, context);
  if (context.stdin.isTTY !== true) {
    throw new CliError(
      'ERR_CLI_USAGE',
      `${action} for ${printable(projectRoot)} needs a confirmation, and nobody can be asked here`,
      {
        hint: `thv skill ${action.split(' ')[0]?.toLowerCase() ?? ''} --yes${flags.projectRoot === undefined ? '' : ` --project-root ${printable(flags.projectRoot)}`}`,
        exitCode: exitCodes.refused,
      },
    );
  }
  await show?.();
  if (await confirm(`${action} for ${printable(projectRoot)}? [y/N]: `, context)) return true;
  context.out(cancelled);
  return false;
}

/** Lock files of older programs may say nothing of trust. That is honoured, and must not pass unseen. */
async function warnOfUnknownTrust(projectRoot: string, context: CliContext): Promise<void> {
  const lock = await readLock(projectRoot, { references });
  for (const { name, unsigned, provenance } of lock.skills) {
    if (unsigned === true || provenance !== undefined) continue;
    context.warn(
      printable(
        `${name}: the lock file names no signer and does not say unsigned: true; no signature is demanded of it`,
      ),
    );
  }
}

async function printSummary(projectRoot: string, context: CliContext): Promise<void> {
  const lock = await readLock(projectRoot, { references });
  for (const { name, source, digest, unsigned, provenance } of lock.skills) {
    const signed = unsigned ? 'unsigned' : provenance === undefined ? 'signature unknown' : 'signed';
    context.warn(printable(`  ${name}  ${source}  ${digest.slice(0, 19)}…  ${signed}`));
  }
}
