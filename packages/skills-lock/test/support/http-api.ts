import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SkillsLockError } from '../../src/index.js';
import type { SkillService } from '../../src/index.js';

/** The REST API over a service, on loopback: just enough of a server to test the client against. */
export async function serveSkills(service: SkillService): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    void answer(service, request).then(
      ({ status, body }) => {
        response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(body === undefined ? '' : JSON.stringify(body));
      },
      (error: unknown) => {
        const known = SkillsLockError.is(error) ? error : undefined;
        const problem = {
          title: 'Error',
          status: known?.status ?? 500,
          detail: String((error as Error).message),
          code: known?.code,
          reason: known?.details.reason,
        };
        response.writeHead(problem.status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(service: SkillService, request: IncomingMessage): Promise<{ status: number; body?: unknown }> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const path = url.pathname.replace('/api/v1beta/skills', '');
  const query = Object.fromEntries(url.searchParams);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = (chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {}) as never;
  const name = decodeURIComponent(path.slice(1));
  switch (`${request.method} ${path}`) {
    case 'GET ':
      return { status: 200, body: { skills: await service.list(query) } };
    case 'POST ':
      return { status: 201, body: await service.install(body) };
    case 'POST /validate':
      return { status: 200, body: await service.validate(body) };
    case 'POST /build':
      return { status: 200, body: await service.build(body) };
    case 'POST /push':
      await service.push(body);
      return { status: 204 };
    case 'GET /builds':
      return { status: 200, body: { builds: await service.builds() } };
    case 'GET /content':
      return { status: 200, body: await service.content(query.ref ?? '') };
    case 'POST /sync':
      return { status: 200, body: await service.sync(body) };
    case 'POST /upgrade':
      return { status: 200, body: await service.upgrade(body) };
  }
  if (path.startsWith('/builds/')) {
    await service.removeBuild(decodeURIComponent(path.slice('/builds/'.length)));
    return { status: 204 };
  }
  if (request.method === 'GET') return { status: 200, body: await service.info({ name, ...query }) };
  await service.uninstall({ name, ...query });
  return { status: 204 };
}
