import type { InstalledSkill, SkillInfoResponse } from '@thv/skills-lock';
import type { CliContext } from '../../context.js';
import { formatFields, formatTable } from '../../output/table.js';
import { signerOf } from './install.js';
import { withSkills } from './open-service.js';
import { placeOf } from './shared.js';
import type { PlaceFlags } from './shared.js';

export interface ListFlags extends PlaceFlags {
  readonly client?: string;
  readonly group?: string;
  readonly format: 'text' | 'json';
}

/** `thv skill list` */
export async function listSkills(flags: ListFlags, context: CliContext): Promise<void> {
  const place = await placeOf(context, flags);
  const skills = await withSkills(context, (service) =>
    service.list({
      ...place,
      ...(flags.client === undefined ? {} : { client: flags.client }),
      ...(flags.group === undefined ? {} : { group: flags.group }),
    }),
  );
  if (flags.format === 'json') return context.json(skills);
  if (skills.length === 0) {
    const filtered = flags.scope ?? flags.client ?? flags.group ?? flags.projectRoot;
    return context.out(filtered === undefined ? 'No skills installed' : 'No skills found matching filters');
  }
  context.write(
    formatTable(
      ['NAME', 'VERSION', 'SCOPE', 'STATUS', 'CLIENTS', 'REFERENCE'],
      skills.map(({ metadata, scope, status, clients = [], reference = '' }) => [
        metadata.name,
        metadata.version,
        scope,
        status,
        clients.join(', '),
        reference,
      ]),
    ),
  );
}

/** `thv skill info` */
export async function showSkill(
  name: string,
  flags: PlaceFlags & { readonly format: 'text' | 'json' },
  context: CliContext,
): Promise<void> {
  const place = await placeOf(context, flags);
  const info = await withSkills(context, (service) => service.info({ name, ...place }));
  if (flags.format === 'json') return context.json(info);
  context.write(formatFields([...describe(info), ...(info.installed_skill ? placeFields(info.installed_skill) : [])]));
}

function describe({ metadata, provenance, unsigned }: SkillInfoResponse): (readonly [string, string])[] {
  return [
    ['Name', metadata.name],
    ['Version', metadata.version],
    ...(provenance?.public_key === undefined
      ? []
      : [['Signed by', '(cosign key pair)'] as const, ['Public key', provenance.public_key] as const]),
    ...(provenance === undefined || provenance.public_key !== undefined
      ? []
      : [
          ['Signed by', `${signerOf(provenance)}${provenance.provisional ? ' (provisional)' : ''}`] as const,
          ['Cert issuer', provenance.cert_issuer ?? ''] as const,
        ]),
    ...(unsigned ? [['Signed by', '(unsigned — explicit exception)'] as const] : []),
    ['Description', metadata.description],
    ...(metadata.author === '' ? [] : [['Author', metadata.author] as const]),
  ];
}

function placeFields(skill: InstalledSkill): (readonly [string, string])[] {
  return [
    ['Scope', skill.scope],
    ...(skill.project_root === undefined ? [] : [['Project', skill.project_root] as const]),
    ['Status', skill.status],
    ['Reference', skill.reference ?? ''],
    ['Digest', skill.digest ?? ''],
    ['Installed At', skill.installed_at.replace('T', ' ').replace('Z', '')],
    ...(skill.clients ? [['Clients', skill.clients.join(', ')] as const] : []),
    ...(skill.dependencies
      ? [['Needs', skill.dependencies.map(({ reference }) => reference).join(', ')] as const]
      : []),
  ];
}
