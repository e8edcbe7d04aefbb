export { createNodeHandler } from './node-handler.js';
export type { NodeHandler } from './node-handler.js';
export { createWebHandler } from './web-handler.js';
export type { WebHandler } from './web-handler.js';
export type { GuardOptions } from './guard.js';
export type { HttpOptions, ModernEdge } from './options.js';
