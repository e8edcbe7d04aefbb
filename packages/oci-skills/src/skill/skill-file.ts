import type { Skill, SkillFileOptions, SkillFileReport } from '../types.js';
export declare function parseSkill(source: Uint8Array | string, options?: SkillFileOptions): Skill;
export declare function checkSkillFile(source: Uint8Array | string, options?: SkillFileOptions): SkillFileReport;
