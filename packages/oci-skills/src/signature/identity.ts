import type { Provenance } from '../types.js';
/** Throws SIGNER_MISMATCH or PROVENANCE_MISMATCH. */
export declare function matchProvenance(expected: Provenance, observed: Provenance): void;
