// A proxy of another package. Usage: node peer.mjs http-proxy-3|httpxy PORT TARGET
import { Agent, createServer } from 'node:http';

const [name, port, target] = process.argv.slice(2);
const { createProxyServer } = await import(name);
const proxy = createProxyServer({ target, agent: new Agent({ keepAlive: true }), changeOrigin: true });
proxy.on('error', () => undefined);
createServer((request, response) => {
  const done = proxy.web(request, response);
  if (done instanceof Promise) done.catch(() => response.destroy());
}).listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
