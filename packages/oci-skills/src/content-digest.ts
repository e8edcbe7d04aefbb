import type { CallOptions } from './types.js';
export declare function contentDigest(files: Iterable<{ readonly path: string; readonly bytes: Uint8Array }>): string;
export declare function directoryDigest(directory: string, options?: CallOptions): Promise<string>;
