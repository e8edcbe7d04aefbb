export { SkillsLockError } from './errors.js';
export { readLock, updateLock } from './lock/file.js';
