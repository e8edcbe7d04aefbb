import type {
  Provenance,
  Reference,
  VerifiedSignature,
  VerifySignatureOptions,
  VerifyStoredSignatureOptions,
} from '../types.js';
export declare function verifySignature(
  reference: string | Reference,
  digest: string,
  options: VerifySignatureOptions,
): Promise<VerifiedSignature>;
export declare function verifyStoredSignature(options: VerifyStoredSignatureOptions): Promise<Provenance>;
