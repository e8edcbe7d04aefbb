import type { Reference, SignArtifactOptions, SignResult } from '../types.js';
export declare function signArtifact(
  reference: string | Reference,
  digest: string,
  options: SignArtifactOptions,
): Promise<SignResult>;
