// Loaded into programs that cannot be told their address (node --import): every listener binds to loopback.
import { Server } from 'node:net';

const listen = Server.prototype.listen;

Server.prototype.listen = function listenOnLoopback(first, ...rest) {
  if (typeof first === 'object' && first !== null && 'port' in first) {
    return listen.call(this, { ...first, host: '127.0.0.1' }, ...rest);
  }
  const isPort = typeof first === 'number' || (typeof first === 'string' && /^\d+$/.test(first));
  if (!isPort) return listen.call(this, first, ...rest);
  const others = typeof rest[0] === 'string' ? rest.slice(1) : rest;
  return listen.call(this, Number(first), '127.0.0.1', ...others);
};
