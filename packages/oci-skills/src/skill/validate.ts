import type { SkillValidation, ValidateSkillOptions } from '../types.js';
export declare function validateSkill(directory: string, options?: ValidateSkillOptions): Promise<SkillValidation>;
