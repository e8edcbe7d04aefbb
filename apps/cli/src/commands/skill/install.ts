import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { InstallResponse } from '@thv/skills-lock';
import { printable } from '@thv/skills-lock';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { withSkills } from './open-service.js';
import { placeOf } from './shared.js';
import type { PlaceFlags } from './shared.js';

export interface InstallFlags extends PlaceFlags {
  readonly clients?: readonly string[];
  readonly force?: boolean;
  readonly group?: string;
  readonly allowUnsigned?: boolean;
  readonly publicKey?: string;
  readonly skillVersion?: string;
  readonly format: 'text' | 'json';
}

/** `thv skill install`: the key is read here, so that its content and not its path is what travels. */
export async function installSkill(name: string, flags: InstallFlags, context: CliContext): Promise<void> {
  const publicKey = flags.publicKey === undefined ? undefined : await readPublicKey(flags.publicKey, context);
  const place = await placeOf(context, flags);
  const result = await withSkills(context, (service) =>
    service.install(
      {
        name,
        ...place,
        ...(flags.clients ? { clients: flags.clients } : {}),
        ...(flags.force ? { force: true } : {}),
        ...(flags.group === undefined ? {} : { group: flags.group }),
        ...(flags.allowUnsigned ? { allow_unsigned: true } : {}),
        ...(publicKey === undefined ? {} : { public_key: publicKey }),
        ...(flags.skillVersion === undefined ? {} : { version: flags.skillVersion }),
      },
      { signal: context.signal },
    ),
  );
  for (const notice of result.notices ?? []) context.note(printable(notice));
  if (flags.format === 'json') context.json(result);
  else context.out(printable(`Installed ${result.skill.metadata.name}${trustText(result)}`));
}

/** Whose signature was pinned, in the words that scripts look for. */
function trustText({ provenance, unsigned }: InstallResponse): string {
  if (provenance?.public_key !== undefined)
    return ' (signed by a cosign key pair; the pinned public key is in the lock file)';
  if (provenance?.provisional)
    return ` (signed by ${provenance.signer_identity ?? ''}; verification provisional — see lock file)`;
  if (provenance !== undefined) return ` (signed by ${signerOf(provenance)})`;
  return unsigned ? ' (unsigned — recorded as an explicit exception in the lock file)' : '';
}

/** The identity as somebody would look it up: a workflow's path behind its repository. */
export function signerOf({
  signer_identity: identity = '',
  repository_uri: repository = '',
}: {
  signer_identity?: string;
  repository_uri?: string;
}): string {
  return identity.startsWith('/') ? repository + identity : identity;
}

async function readPublicKey(path: string, context: CliContext): Promise<string> {
  try {
    return await readFile(resolve(context.cwd, path), 'utf8');
  } catch (error) {
    throw new CliError(
      'ERR_CLI_FILE',
      `The public key ${path} could not be read: ${error instanceof Error ? error.message : String(error)}`,
      {
        hint: 'thv skill install … --public-key cosign.pub',
        file: path,
        cause: error,
      },
    );
  }
}
