import type { PackSkillOptions, PackedSkill } from './types.js';
export declare function packSkill(directory: string, options?: PackSkillOptions): Promise<PackedSkill>;
