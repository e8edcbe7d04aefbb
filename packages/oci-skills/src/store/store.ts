import type { SkillStore, StoreOptions } from '../types.js';
export declare function defaultStoreDirectory(options: {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}): string;
export declare function openStore(directory: string, options?: StoreOptions): Promise<SkillStore>;
