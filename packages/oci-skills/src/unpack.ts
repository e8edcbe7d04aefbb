import { streamLayer } from './archive/layer.js';
import { Staging } from './archive/staging.js';
import { expectAbsolute } from './arguments.js';
import type { UnpackSkillOptions, UnpackedSkill } from './types.js';

/**
 * Unpack a skill's layer (gzip over tar) to `directory`, an absolute path that does not exist or is empty. The files
 * are written beside it and take its place in one rename; when anything is wrong, nothing is left behind and the
 * directory is as it was. Files get mode 0644 at most, whatever the archive says; links, devices and names that some
 * file system cannot hold are refused.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_ARCHIVE` for a damaged or ambiguous archive, `ERR_OCI_SKILLS_UNSAFE_ENTRY`,
 *   `ERR_OCI_SKILLS_LIMIT`, `ERR_OCI_SKILLS_DIGEST`, `ERR_OCI_SKILLS_SKILL_MISSING`, `ERR_OCI_SKILLS_INVALID_SKILL`,
 *   `ERR_OCI_SKILLS_TARGET`, `ERR_OCI_SKILLS_ARGUMENT`
 */
export async function unpackSkill(
  layer: Uint8Array | AsyncIterable<Uint8Array>,
  directory: string,
  options: UnpackSkillOptions = {},
): Promise<UnpackedSkill> {
  options.signal?.throwIfAborted();
  expectAbsolute(directory, 'directory');
  const staging = new Staging(directory, options);
  try {
    const summary = await streamLayer(layer, staging, options);
    options.signal?.throwIfAborted();
    staging.commit();
    return { ...summary, directory: staging.target };
  } finally {
    staging.discard();
  }
}
