import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkGroupName,
  checkWorkloadName,
  describeCommand,
  freeName,
  parsePackageSpec,
  suggestName,
} from '../src/index.js';

describe('names of workloads', () => {
  it.each(['a', 'server-everything', 'A.b_c-1', 'x'.repeat(100)])('takes %s', (name) => {
    expect(() => checkWorkloadName(name)).not.toThrow();
  });

  it.each(['', '.', '..', '../x', 'a/b', '-a', '_a', 'a b', 'ä', 'a\n', 'x'.repeat(101), 'a\0b'])(
    'refuses %j with ERR_WORKLOADS_NAME',
    (name) => {
      expect(() => checkWorkloadName(name)).toThrow(expect.objectContaining({ code: 'ERR_WORKLOADS_NAME' }));
    },
  );

  it('never lets a name out of its folder', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        try {
          checkWorkloadName(name);
        } catch {
          return true;
        }
        return !/[/\\\0]/.test(name) && !name.startsWith('.');
      }),
    );
  });
});

describe('names of groups', () => {
  it.each(['default', 'web team', 'a_b-1'])('takes %s', (name) => {
    expect(() => checkGroupName(name)).not.toThrow();
  });

  it.each(['', ' a', 'a ', 'a  b', 'Team', 'a/b', '..'])('refuses %j', (name) => {
    expect(() => checkGroupName(name)).toThrow(expect.objectContaining({ code: 'ERR_WORKLOADS_NAME' }));
  });
});

describe('what a command is called', () => {
  it.each([
    ['npx', ['-y', '@demo/fetch-server'], 'npx @demo/fetch-server', 'fetch-server'],
    [
      'npx',
      ['-y', '@modelcontextprotocol/server-everything@1.2.3', 'stdio'],
      'npx @modelcontextprotocol/server-everything@1.2.3',
      'server-everything',
    ],
    ['/usr/bin/npx', ['-p', 'pkg', 'bin'], 'npx pkg', 'pkg'],
    ['uvx', ['mcp-server-fetch==1.0'], 'uvx mcp-server-fetch==1.0', 'mcp-server-fetch'],
    ['uvx', ['--from', 'git-pkg', 'serve'], 'uvx git-pkg', 'git-pkg'],
    ['/usr/bin/node', ['/srv/app/server.mjs', 'stdio'], 'node server.mjs', 'server'],
    ['python3', ['src/tool.py'], 'python3 tool.py', 'tool'],
    ['npx', ['./local'], 'npx local', 'local'],
    ['C:/tools/server.exe', [], 'server', 'server'],
    ['sh', ['-c', 'exec node x.js'], 'sh', 'sh'],
    ['./ä', [], 'ä', 'a'],
  ] as const)('%s %j', (command, args, shown, name) => {
    expect(describeCommand(command, args)).toBe(shown);
    expect(suggestName(command, args)).toBe(name);
  });

  it('suggests a name that is always valid', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), (command, args) => {
        checkWorkloadName(suggestName(command, args));
      }),
    );
  });

  it('counts up until a name is free', () => {
    expect(freeName('a', new Set())).toBe('a');
    expect(freeName('a', new Set(['a', 'a-2']))).toBe('a-3');
    expect(freeName('x'.repeat(100), new Set(['x'.repeat(100)]))).toHaveLength(94);
  });
});

describe('parsePackageSpec', () => {
  it.each([
    [
      'npx://@demo/fetch@1.0.0',
      { runner: 'npx', package: '@demo/fetch@1.0.0', command: 'npx', args: ['-y', '@demo/fetch@1.0.0'] },
    ],
    [
      'uvx://mcp-server-fetch',
      { runner: 'uvx', package: 'mcp-server-fetch', command: 'uvx', args: ['mcp-server-fetch'] },
    ],
    ['uvx://pkg[extra]==1.0', { runner: 'uvx', package: 'pkg[extra]==1.0', command: 'uvx', args: ['pkg[extra]==1.0'] }],
    ['https://example.com/mcp', undefined],
    ['ghcr.io/x/y', undefined],
  ])('reads %s', (text, expected) => {
    expect(parsePackageSpec(text)).toEqual(expected);
  });

  it.each(['npx://', 'npx://--call=evil', 'npx://a b', 'npx://@scope', 'uvx://-x', 'uvx://a;b'])(
    'refuses %s with ERR_WORKLOADS_PACKAGE',
    (text) => {
      expect(() => parsePackageSpec(text)).toThrow(expect.objectContaining({ code: 'ERR_WORKLOADS_PACKAGE' }));
    },
  );

  it('says what to do about go://', () => {
    expect(() => parsePackageSpec('go://example.com/x')).toThrow(
      expect.objectContaining({
        code: 'ERR_WORKLOADS_UNSUPPORTED',
        details: { hint: 'thv run --name NAME -- go run example.com/x' },
      }),
    );
  });
});
