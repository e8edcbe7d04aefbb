import type { Provenance, VerifyCommitOptions } from '../types.js';
export declare function verifyCommitSignature(commit: Uint8Array, options?: VerifyCommitOptions): Promise<Provenance>;
