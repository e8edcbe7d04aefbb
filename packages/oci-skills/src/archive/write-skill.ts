import type { SkillFileContent, UnpackedSkill, WriteSkillOptions } from '../types.js';
export declare function writeSkill(
  files: Iterable<Pick<SkillFileContent, 'path' | 'bytes'>>,
  directory: string,
  options?: WriteSkillOptions,
): Promise<UnpackedSkill>;
