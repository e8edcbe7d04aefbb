import type { SkillDiagnostic } from '../types.js';
/** Limits of a {@link TreeGuard}. */
export interface TreeGuardOptions {
  readonly maxFiles?: number;
  readonly maxTotalBytes?: number;
}
/** Checks the paths and sizes of one tree of files, entry by entry. */
export interface TreeGuard {
  addFile(path: string, size: number): string;
  addDirectory(path: string): void;
  finish(): void;
  readonly warnings: readonly SkillDiagnostic[];
}
export declare function createTreeGuard(options?: TreeGuardOptions): TreeGuard;
