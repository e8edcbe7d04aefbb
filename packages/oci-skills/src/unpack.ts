import type { UnpackSkillOptions, UnpackedSkill } from './types.js';
export declare function unpackSkill(
  layer: Uint8Array | AsyncIterable<Uint8Array>,
  directory: string,
  options?: UnpackSkillOptions,
): Promise<UnpackedSkill>;
