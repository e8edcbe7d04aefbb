export { createSseHandler } from './node-handler.js';
export type { SseHandler } from './node-handler.js';
export type { SseOptions } from './options.js';
