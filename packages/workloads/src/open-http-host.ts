import type { OpenHost } from './host.js';

/** Opens a proxy in front of a server that speaks HTTP, without a supervisor; what it takes is loaded on first use. */
export const openHttpHost: OpenHost = async (config, options) =>
  (await import('./host-http.js')).openHttpHost(config, options);
