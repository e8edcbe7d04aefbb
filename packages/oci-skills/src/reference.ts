import type { ParseReferenceOptions, Reference } from './types.js';
export declare function parseReference(text: string, options?: ParseReferenceOptions): Reference;
/** `registry/repository[:tag][@digest]`; `digest` replaces the reference's own tag and digest. */
export declare function formatReference(reference: Reference, options?: { readonly digest?: string }): string;
/** Contains `/`, `:` or `@`. */
export declare function isReference(text: string): boolean;
export declare function isUnambiguousReference(text: string): boolean;
/** Options of {@link chooseBuildTag}. */
export interface ChooseBuildTagOptions {
  readonly tag?: string;
  readonly name: string;
}
/** Explicit tag, else the skill's name; `''` when neither. */
export declare function chooseBuildTag(options: ChooseBuildTagOptions): string;
