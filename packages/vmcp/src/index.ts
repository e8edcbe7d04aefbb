export { VmcpError, type VmcpErrorCode, type VmcpErrorOptions } from './errors.js';
export { openBackends, type Backends, type BackendsOptions, type BackendTool } from './backends/backends.js';
export type { RemoteServer, ServerConfig, Servers, StdioServer } from './backends/config.js';
export { parseServers, type ServersFileOptions, type ServersProblem } from './backends/servers-file.js';
export { serversSchema } from './backends/servers-schema.js';
