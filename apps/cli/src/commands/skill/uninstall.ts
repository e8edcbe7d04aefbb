import { printable } from '@thv/skills-lock';
import type { CliContext } from '../../context.js';
import { withSkills } from './open-service.js';
import { placeOf } from './shared.js';
import type { PlaceFlags } from './shared.js';

export interface UninstallFlags extends PlaceFlags {
  readonly format: 'text' | 'json';
}

/** `thv skill uninstall` */
export async function uninstallSkill(name: string, flags: UninstallFlags, context: CliContext): Promise<void> {
  const place = await placeOf(context, flags);
  await withSkills(context, (service) => service.uninstall({ name, ...place }, { signal: context.signal }));
  if (flags.format === 'json') context.json({ name, result: 'uninstalled' });
  else context.out(printable(`Uninstalled ${name}`));
}
