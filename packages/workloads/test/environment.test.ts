import { describe, expect, it } from 'vitest';
import { childEnvironment, parseEnvAssignment, parseEnvFile } from '../src/index.js';

const codeOf = (action: () => unknown): unknown => {
  try {
    action();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return undefined;
};

describe('childEnvironment', () => {
  const env = {
    PATH: '/bin',
    HOME: '/home/u',
    LC_ALL: 'C.UTF-8',
    https_proxy: 'http://proxy:3128',
    AWS_SECRET_ACCESS_KEY: 'secret',
    NPM_TOKEN: 'secret',
    EMPTY: undefined,
  };

  it('passes on what a program needs and nothing that may be a secret', () => {
    const child = childEnvironment({ env, user: {}, transport: 'stdio', platform: 'linux' });
    expect(child).toEqual({
      PATH: '/bin',
      HOME: '/home/u',
      LC_ALL: 'C.UTF-8',
      https_proxy: 'http://proxy:3128',
      MCP_TRANSPORT: 'stdio',
    });
  });

  it('tells an HTTP server where it is expected to listen', () => {
    const target = { host: '127.0.0.1', port: 4711 };
    const child = childEnvironment({ env: {}, user: {}, transport: 'streamable-http', target, platform: 'linux' });
    expect(child).toEqual({
      MCP_TRANSPORT: 'streamable-http',
      MCP_PORT: '4711',
      FASTMCP_PORT: '4711',
      MCP_HOST: '127.0.0.1',
    });
  });

  it.each(['MCP_TRANSPORT', 'MCP_PORT', 'MCP_HOST', 'FASTMCP_PORT', 'PATH'])(
    'lets the value of the user win for %s',
    (name) => {
      const target = { host: '127.0.0.1', port: 1 };
      const child = childEnvironment({ env, user: { [name]: 'mine' }, transport: 'sse', target, platform: 'linux' });
      expect(child[name]).toBe('mine');
    },
  );

  it('knows what Windows programs need, in any case', () => {
    const windows = { SystemRoot: 'C:\\Windows', Path: 'C:\\bin', pathext: '.EXE', Secret: 'x' };
    const child = childEnvironment({ env: windows, user: {}, transport: 'stdio', platform: 'win32' });
    expect(Object.keys(child).toSorted()).toEqual(['MCP_TRANSPORT', 'Path', 'SystemRoot', 'pathext']);
  });
});

describe('parseEnvAssignment', () => {
  it.each([
    ['A=b', ['A', 'b']],
    ['A=', ['A', '']],
    ['A=b=c', ['A', 'b=c']],
    ['FROM_SHELL', ['FROM_SHELL', 'there']],
  ])('reads %s', (text, expected) => {
    expect(parseEnvAssignment(text, { FROM_SHELL: 'there' })).toEqual(expected);
  });

  it.each(['=x', '1A=x', 'a b=c', '', 'NOT_SET'])('refuses %j with ERR_WORKLOADS_ENV', (text) => {
    expect(codeOf(() => parseEnvAssignment(text, {}))).toBe('ERR_WORKLOADS_ENV');
  });
});

describe('parseEnvFile', () => {
  it('reads values, comments, quotes and export, with CRLF and a byte order mark', () => {
    const text = [
      '\uFEFF# comment',
      'A=1',
      'export B = two words # comment',
      "C='single # not a comment'",
      String.raw`D="line\nbreak \"quoted\" back\\slash"`,
      'E=',
      '',
    ].join('\r\n');
    expect(parseEnvFile(text, '.env')).toEqual({
      A: '1',
      B: 'two words',
      C: 'single # not a comment',
      D: 'line\nbreak "quoted" back\\slash',
      E: '',
    });
  });

  it.each([
    ['A=1\nno assignment', 2],
    ['\n\nA="open', 3],
    ['1A=x', 1],
  ])('names the line of a fault in %j', (text, line) => {
    expect(() => parseEnvFile(text, '/x/.env')).toThrow(`/x/.env:${line}:`);
    expect(codeOf(() => parseEnvFile(text, '/x/.env'))).toBe('ERR_WORKLOADS_ENV');
  });
});
