import { compileSchema } from '@thv/workflow-dag';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseServers, serversSchema, VmcpError } from '../src/index.js';

const schema = compileSchema(serversSchema);
const accepts = (value: unknown): boolean => 'check' in schema && schema.check(value).length === 0;

describe('a servers file', () => {
  it('names commands and addresses', () => {
    const text = `servers:
  files: {command: npx, args: [-y, server-filesystem, 8], env: {LEVEL: 1}, cwd: data, timeout: 1m30s}
  remote: {url: "http://127.0.0.1:8080/mcp", headers: {Authorization: "Bearer \${TOKEN}"}}
  old: {url: "http://127.0.0.1:8080/sse"}
`;
    const servers = parseServers(text, { env: { TOKEN: 's3cret' } });
    expect([...servers]).toEqual([
      [
        'files',
        {
          kind: 'stdio',
          command: 'npx',
          args: ['-y', 'server-filesystem', '8'],
          env: { LEVEL: '1' },
          cwd: 'data',
          connectTimeoutMs: 90_000,
        },
      ],
      [
        'remote',
        {
          kind: 'remote',
          url: new URL('http://127.0.0.1:8080/mcp'),
          headers: { Authorization: 'Bearer s3cret' },
          transport: 'streamable-http',
          connectTimeoutMs: 30_000,
        },
      ],
      ['old', expect.objectContaining({ transport: 'sse' })],
    ]);
    expect(accepts(parse('servers: {a: {command: npx}, b: {url: "http://x/"}}'))).toBe(true);
    expect(accepts(parse('servers: {a: {comand: npx}}'))).toBe(false);
  });

  it('may be the configuration of a client', () => {
    const text = '{"mcpServers": {"a": {"type": "stdio", "command": "node", "args": ["x.js"]}}}';
    expect(parseServers(text).get('a')).toMatchObject({ kind: 'stdio', command: 'node', args: ['x.js'] });
  });

  it('takes variables from the environment, or their default', () => {
    const text =
      'servers: {a: {command: "${HOME_OF}/bin", args: ["${LEVEL:-info}", "$PLAIN"]}, b: {command: "${OTHER}"}}';
    const only = new Set(['a']);
    expect(parseServers(text, { env: { HOME_OF: '/opt' }, only }).get('a')).toMatchObject({
      command: '/opt/bin',
      args: ['info', '$PLAIN'],
    });
    expect(() => parseServers(text, { env: {} })).toThrow(
      expect.objectContaining({ code: 'ERR_VMCP_VARIABLE', details: { names: ['HOME_OF', 'OTHER'] } }),
    );
    expect(() => parseServers('servers: {a: {url: "http://${HOST}/"}}')).toThrow(/HOST.*set it/);
  });

  it.each([
    ['servers: [', 1, 11, /no YAML/],
    ['- a', 1, 1, /must have a map "servers"/],
    ['server: {}', 1, 9, /server is an unknown key/],
    ['servers:\n  a: {comand: x}', 2, 6, /servers\.a needs a command or a url/],
    ['servers:\n  a: {command: x, arg: [1]}', 2, 24, /servers\.a\.arg is an unknown key; known keys: command, args/],
    ['servers:\n  a: {command: x, args: y}', 2, 25, /servers\.a\.args must be a list of texts/],
    ['servers:\n  a: {command: 5}', 2, 16, /servers\.a\.command must be text/],
    ['servers:\n  a: {command: x, url: "http://x"}', 2, 24, /servers\.a\.url stands beside command/],
    ['servers:\n  a: {url: "ftp://x"}', 2, 12, /servers\.a\.url must be an http or https address/],
    ['servers:\n  a: {url: "http://x", transport: ws}', 2, 35, /servers\.a\.transport must be one of/],
    ['servers:\n  a: {url: "http://x", timeout: soon}', 2, 33, /servers\.a\.timeout must be a duration/],
    ['servers:\n  a.b: {command: x}', 2, 8, /servers\.a\.b is no name of a server/],
    ['servers:\n  a: {command: x, env: [y]}', 2, 24, /servers\.a\.env must be a map/],
    ['servers: {}\nmcpServers: {}', 2, 13, /stands beside servers/],
  ])('%j is refused at %i:%i', (text, line, column, message) => {
    const error = refusalOf(text);
    expect(error.code).toBe('ERR_VMCP_SERVERS_FILE');
    const problems = error.details['problems'] as readonly { message: string; line: number; column: number }[];
    const found = problems.find((problem) => message.test(problem.message));
    expect(found, JSON.stringify(problems)).toMatchObject({ line, column });
    expect(VmcpError.is(error, 'ERR_VMCP_SERVERS_FILE')).toBe(true);
  });

  it('is told all its problems at once', () => {
    expect(refusalOf('servers: {a: {}, b: {command: 1}, c: 5}').details['problems']).toHaveLength(3);
  });

  it.each(['*!', 'servers: *nowhere', '{servers: {a: *x}}'])(
    'with an alias that leads nowhere is refused: %s',
    (text) => {
      expect(refusalOf(text).message).toContain('the servers file is invalid');
    },
  );

  it('of any text is read or refused', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json().map((json) => `{"servers": ${json}}`),
        ),
        (text) => {
          try {
            expect(parseServers(text)).toBeInstanceOf(Map);
          } catch (error) {
            expect(VmcpError.is(error)).toBe(true);
          }
        },
      ),
    );
  });
});

function refusalOf(text: string): VmcpError {
  try {
    parseServers(text);
  } catch (error) {
    if (VmcpError.is(error)) return error;
    throw error;
  }
  throw new Error('the file was accepted');
}
