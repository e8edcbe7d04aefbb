import { createServer } from 'node:http';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { everything, hostile, openThv } from './support/thv.js';
import type { Thv } from './support/thv.js';

let thv: Thv;
let url: string;

beforeAll(async () => {
  thv = await openThv();
  url = await thv.ok(['run', '--name', 'everything', '--', ...everything]);
  await thv.ok(['run', '--name', 'hostile', '--', ...hostile({ toolsPerPage: 2 })]);
});

afterAll(async () => {
  await thv.close();
});

describe('mcp list', () => {
  it('prints tools, resources and prompts as tables', async () => {
    const all = await thv.ok(['mcp', 'list', '--server', 'everything']);
    expect(all).toMatch(/^TOOLS:\nNAME +DESCRIPTION\necho +Echoes back the input string\n/);
    expect(all).toMatch(/\n\nRESOURCES:\nNAME +URI +DESCRIPTION +MIME_TYPE\n/);
    expect(all).toMatch(/\n\nPROMPTS:\nNAME +DESCRIPTION +ARGUMENTS\nsimple-prompt .* 0\n/);
    const tools = await thv.ok(['mcp', 'list', 'tools', '--server', url]);
    expect(tools).toContain('TOOLS:');
    expect(tools).not.toContain('PROMPTS:');
  });

  it('gives the same as JSON, with options before or behind the word', async () => {
    const { tools } = await thv.json<{ tools: { name: string; inputSchema: unknown }[] }>([
      'mcp',
      'list',
      'tools',
      '--server',
      'everything',
    ]);
    expect(tools[0]).toMatchObject({ name: 'echo', inputSchema: { type: 'object' } });
    const before = await thv.ok(['mcp', 'list', '--server', 'everything', '--format', 'json', 'prompts']);
    expect(Object.keys(JSON.parse(before) as object)).toEqual(['prompts']);
    expect(Object.keys(await thv.json(['mcp', 'list', '--server', 'everything']))).toEqual([
      'tools',
      'resources',
      'prompts',
    ]);
  });

  it('reads all pages', async () => {
    const { tools } = await thv.json<{ tools: { name: string }[] }>(['mcp', 'list', 'tools', '--server', 'hostile']);
    expect(tools.length).toBeGreaterThan(10);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
  });
});

describe('mcp call', () => {
  const call = (tool: string, ...rest: string[]): string[] => ['mcp', 'call', tool, ...rest];

  it('takes arguments from the command line, a file and stdin', async () => {
    const file = join(thv.home.home, 'args.json');
    await writeFile(file, '{"message":"from file"}');
    const server = ['--server', 'everything'];
    expect(await thv.ok(call('echo', ...server, '--args', '{"message":"hi"}'))).toBe('Echo: hi');
    expect(await thv.ok(call('echo', ...server, '--args-file', file))).toBe('Echo: from file');
    expect(await thv.ok(call('echo', ...server, '--args-file', '-'), { input: '{"message":"piped"}' })).toBe(
      'Echo: piped',
    );
    expect(await thv.json(call('echo', ...server, '--args', '{"message":"hi"}'))).toEqual({
      content: [{ type: 'text', text: 'Echo: hi' }],
    });
  });

  it('describes what is no text', async () => {
    const image = await thv.ok(call('get-tiny-image', '--server', 'everything'));
    expect(image).toMatch(/\[image: image\/png, \d+ bytes\]/);
    const structured = await thv.ok(
      call('get-structured-content', '--server', 'everything', '--args', '{"location":"New York"}'),
    );
    expect(structured).toMatch(/Structured content:\n\{\n {2}"/);
  });

  it('fails when the tool reports an error, unless told otherwise', async () => {
    const failed = await thv.run(call('tool-error', '--server', 'hostile'));
    expect(failed.code).toBe(1);
    expect(failed.stdout).not.toBe('');
    expect(failed.stderr).toMatch(/^Error:\nerror: tool "tool-error" reported an error\nTry: /);
    const json = await thv.run([...call('tool-error', '--server', 'hostile'), '--format', 'json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ isError: true });
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'ERR_CLI_TOOL' } });
    expect((await thv.run(call('tool-error', '--server', 'hostile', '--ignore-tool-error'))).code).toBe(0);
  });

  it('tells an error of the protocol with its message', async () => {
    const args = JSON.stringify({ code: -32_050, message: 'out of order' });
    const failed = await thv.run([...call('error', '--server', 'hostile', '--args', args), '--format', 'json']);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stderr)).toMatchObject({
      error: { code: 'ERR_CLI_SERVER', message: expect.stringContaining('out of order') as unknown },
    });
  });

  it('gives up after --timeout', async () => {
    const failed = await thv.run(call('no-answer', '--server', 'hostile', '--timeout', '300ms'));
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/^error: "hostile" did not answer within 0\.3 s\nTry: a longer --timeout/);
  });

  it('prints nothing that a terminal would obey', async () => {
    const text = '\u001b[2J\u001b]0;title\u0007red\u0000';
    const printed = await thv.ok(call('echo', '--server', 'hostile', '--args', JSON.stringify({ message: text })));
    expect(printed).not.toMatch(/[\u0000-\u0008\u001b]/);
    expect(printed).toContain('red');
  });

  it('says that a server is stopped, or not there, or no MCP server', async () => {
    await thv.ok(['run', '--name', 'idle', '--', ...hostile()]);
    await thv.ok(['stop', 'idle']);
    const idle = await thv.run([...call('echo', '--server', 'idle'), '--format', 'json']);
    expect(JSON.parse(idle.stderr)).toMatchObject({ error: { code: 'ERR_CLI_NOT_RUNNING', hint: 'thv start idle' } });
    const near = await thv.run(call('echo', '--server', 'idel'));
    expect(near.stderr).toContain('server "idel" not found (did you mean "idle"?)');

    const web = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'));
    web.listen(0, '127.0.0.1');
    await once(web, 'listening');
    const address = web.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const page = await thv.run(['mcp', 'list', '--server', `http://127.0.0.1:${port}/mcp`, '--timeout', '5s']);
    web.close();
    expect(page.code).toBe(1);
    expect(page.stderr).toMatch(/failed to connect: [^]*Try: check the URL/);
  });
});
