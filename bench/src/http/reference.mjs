// The reference: the least that a proxy between HTTP and HTTP can do in Node. It knows no session, no redirect, no error,
// no header that ends at a hop. Usage: node reference.mjs PORT TARGET
import { Agent, createServer, request as ask } from 'node:http';

const [port, target] = process.argv.slice(2);
const { hostname, port: targetPort } = new URL(target);
const agent = new Agent({ keepAlive: true });
const server = createServer((request, response) => {
  const options = {
    agent,
    hostname,
    port: targetPort,
    path: request.url,
    method: request.method,
    headers: request.headers,
  };
  const outgoing = ask(options, (incoming) => {
    response.writeHead(incoming.statusCode, incoming.headers);
    incoming.pipe(response);
  });
  outgoing.on('error', () => response.destroy());
  response.on('close', () => outgoing.destroy());
  request.pipe(outgoing);
});
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
