import type { Reference } from '../types.js';
export declare function signaturePayload(reference: string | Reference, digest: string): Uint8Array;
