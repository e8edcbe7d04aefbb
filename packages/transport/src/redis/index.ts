export { openRedisSessionStore } from './session-store.js';
export type { RedisSessionStoreOptions } from './session-store.js';
