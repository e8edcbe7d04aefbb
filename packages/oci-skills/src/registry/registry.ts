import type { Registry, RegistryOptions } from '../types.js';
export declare function createRegistry(options?: RegistryOptions): Registry;
