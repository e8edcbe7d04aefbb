import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createSkillClient } from '../src/client.js';
import { SkillsLockError } from '../src/index.js';

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(
    servers.splice(0).map((server) => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve)))),
  );
});

async function serve(status: number, body: string, seen: (string | undefined)[] = []): Promise<string> {
  const server = createServer((request, response) => {
    seen.push(request.url, request.headers.authorization);
    if (status === 0) return;
    response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the HTTP client', () => {
  it.each([
    [400, 'ERR_SKILLS_LOCK_ARGUMENT'],
    [401, 'ERR_SKILLS_LOCK_UNAUTHORIZED'],
    [403, 'ERR_SKILLS_LOCK_REFUSED'],
    [404, 'ERR_SKILLS_LOCK_NOT_FOUND'],
    [409, 'ERR_SKILLS_LOCK_CONFLICT'],
    [422, 'ERR_SKILLS_LOCK_INVALID_SKILL'],
    [429, 'ERR_SKILLS_LOCK_RATE_LIMITED'],
    [500, 'ERR_SKILLS_LOCK_STORE'],
    [502, 'ERR_SKILLS_LOCK_UNREACHABLE'],
    [504, 'ERR_SKILLS_LOCK_TIMEOUT'],
  ])('reads plain text behind %d as %s', async (status, code) => {
    const client = createSkillClient({ baseUrl: await serve(status, 'what happened') });
    const failure = await client.list().catch((error: unknown) => error);
    expect(SkillsLockError.is(failure) && failure).toMatchObject({ code, message: 'what happened' });
  });

  it('sends filters and the token', async () => {
    const seen: (string | undefined)[] = [];
    const client = createSkillClient({ baseUrl: await serve(200, '{"skills":null}', seen), token: 'secret' });
    expect(await client.list({ group: 'team', scope: 'user' })).toEqual([]);
    expect(seen).toEqual(['/api/v1beta/skills?group=team&scope=user', 'Bearer secret']);
  });

  it('tells a server that is not there from one that does not answer', async () => {
    const gone = createSkillClient({ baseUrl: 'http://127.0.0.1:1' });
    await expect(gone.list()).rejects.toMatchObject({
      code: 'ERR_SKILLS_LOCK_UNREACHABLE',
      message: expect.stringContaining('thv serve') as string,
    });
    const silent = createSkillClient({ baseUrl: await serve(0, ''), timeoutMs: 150 });
    await expect(silent.list()).rejects.toMatchObject({ code: 'ERR_SKILLS_LOCK_TIMEOUT' });
    const controller = new AbortController();
    controller.abort(new Error('stop'));
    await expect(silent.list({}, { signal: controller.signal })).rejects.toThrow('stop');
  });

  it('reads no answer without end', async () => {
    const client = createSkillClient({ baseUrl: await serve(200, `{"skills":[${'"x",'.repeat(400_000)}"x"]}`) });
    await expect(client.list()).rejects.toThrow(/larger than 1048576 bytes/);
  });

  it.each(['http://example.test', 'ftp://127.0.0.1', 'nonsense', 'http://localhost:80'])(
    'refuses the address %s',
    (baseUrl) => {
      expect(() => createSkillClient({ baseUrl })).toThrow(/`baseUrl`/);
    },
  );
});
