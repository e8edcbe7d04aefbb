import { TrustedRoot } from '@sigstore/protobuf-specs';
import { toTrustMaterial } from '@sigstore/verify';
import type { TrustMaterial } from '@sigstore/verify';
import { expectArgument } from '../arguments.js';
import { OciSkillsError } from '../errors.js';
import type { TrustOptions } from '../types.js';
import { publicTrustedRoot } from './trusted-root.js';

/** What keyless signatures are verified with. */
export interface Trust {
  readonly material: TrustMaterial;
  readonly certificateLogThreshold: number;
}

let publicMaterial: TrustMaterial | undefined;

function parse(text: string): TrustMaterial {
  try {
    return toTrustMaterial(TrustedRoot.fromJSON(JSON.parse(text)));
  } catch (error) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_TRUST_ROOT',
      `The trust root cannot be read: ${(error as Error).message}; give the text of a \`trusted_root.json\``,
      { cause: error },
    );
  }
}

/** @throws OciSkillsError `ERR_OCI_SKILLS_TRUST_ROOT`, `ERR_OCI_SKILLS_ARGUMENT` */
export function readTrust({ trustedRoot, certificateLogThreshold = 1 }: TrustOptions): Trust {
  const isValid = Number.isSafeInteger(certificateLogThreshold) && certificateLogThreshold >= 0;
  expectArgument(isValid, 'certificateLogThreshold', 'a whole number', certificateLogThreshold);
  // Proofs may only be waived for an instance of one's own; the public one always gives them.
  expectArgument(
    certificateLogThreshold > 0 || trustedRoot !== undefined,
    'certificateLogThreshold',
    'at least 1 for the public instance',
    certificateLogThreshold,
  );
  publicMaterial ??= parse(publicTrustedRoot);
  return { material: trustedRoot === undefined ? publicMaterial : parse(trustedRoot), certificateLogThreshold };
}
