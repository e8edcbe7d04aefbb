import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openInProcess } from './support/in-process.js';
import { hostile, openThv } from './support/thv.js';

describe('thv config', () => {
  it('sets, gets, lists and unsets, and keeps comments and foreign keys', async () => {
    const thv = await openInProcess();
    const list = await thv(['config', 'list', '--show-origin', '--format', 'json']);
    expect(JSON.parse(list.stdout)).toContainEqual({ key: 'default-group', value: 'default', origin: 'default' });
    expect(await thv(['config', 'get', 'request-timeout'])).toMatchObject({ code: 0, stdout: '60s\n' });

    const set = await thv(['config', 'set', 'request-timeout', '5m']);
    const path = /\((.+)\)/.exec(set.stderr)?.[1] ?? '';
    await writeFile(path, `# mine\nregistry_url: https://example.com\n${await readFile(path, 'utf8')}`);
    await thv(['config', 'set', 'default-isolation', 'session']);
    expect(await readFile(path, 'utf8')).toBe(
      '# mine\nregistry_url: https://example.com\nrequest-timeout: 5m\ndefault-isolation: session\n',
    );
    const table = await thv(['config', 'list', '--show-origin']);
    expect(table.stdout).toMatch(new RegExp(`^request-timeout +5m +${path}$`, 'm'));
    expect(
      (await thv(['config', 'get', 'request-timeout'], { env: { TOOLHIVE_PROXY_REQUEST_TIMEOUT: '7s' } })).stdout,
    ).toBe('7s\n');
    const unset = await thv(['config', 'unset', 'request-timeout', '--format', 'json']);
    expect(JSON.parse(unset.stdout)).toEqual({ key: 'request-timeout', value: '60s', path });
    const again = await thv(['config', 'set', 'default-host', '::1', '--format', 'json']);
    expect(JSON.parse(again.stdout)).toEqual({ key: 'default-host', value: '::1', path });
    expect(await readFile(path, 'utf8')).not.toContain('request-timeout');
  });

  it.each([
    [
      ['config', 'get', 'default-grup'],
      /unknown key "default-grup" \(did you mean "default-group"\?\)\nTry: thv config list\n$/,
    ],
    [
      ['config', 'set', 'default-isolation', 'sesion'],
      /"sesion" is no value for default-isolation: expected one of shared, session, principal, lease \(did you mean "session"\?\)/,
    ],
    [['config', 'set', 'request-timeout', '5'], /"5" is no value for request-timeout: Expected a duration/],
    [['config', 'set', 'default-group', ''], /is no value for default-group/],
  ])('refuses %j with ERR_CLI_CONFIG', async (args, message) => {
    const thv = await openInProcess();
    const { code, stderr } = await thv(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  it.each([
    ['a: [', /config\.yaml:1: /],
    ['- a', /config\.yaml:1: expected "key: value" lines/],
    ['a: 1\na: 2\n', /config\.yaml:2: Map keys must be unique/],
    ['default-isolation: leased\n', /config\.yaml: "leased" is no value for default-isolation/],
  ])('names the place of a fault in %j', async (text, message) => {
    const thv = await openThv();
    const path = join(thv.home.env['XDG_CONFIG_HOME'] ?? '', 'toolhive/config.yaml');
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    for (const args of [
      ['config', 'list'],
      ['run', '--name', 'x', '--', 'x'],
    ]) {
      const result = await thv.run(args);
      expect(result.code).toBe(1);
      expect(result.stderr).toMatch(message);
    }
    expect(await readFile(path, 'utf8')).toBe(text);
    await thv.close();
  });

  it('is what run takes where no flag is given', async () => {
    const thv = await openThv();
    await thv.ok(['group', 'create', 'mine']);
    for (const [key, value] of Object.entries({
      'default-group': 'mine',
      'default-isolation': 'session',
      'default-session-ttl': '10m',
      'request-timeout': '200ms',
    })) {
      await thv.ok(['config', 'set', key, value]);
    }
    await thv.ok(['run', '--name', 'a', '--', ...hostile()]);
    await thv.ok(['run', '--name', 'b', '--isolation', 'shared', '--group', 'default', '--', ...hostile()]);
    const configOf = async (name: string): Promise<unknown> => JSON.parse(await thv.ok(['export', name, '-']));
    expect(await configOf('a')).toMatchObject({ group: 'mine', isolation: 'session', session_ttl: '10m' });
    expect(await configOf('b')).toMatchObject({ group: 'default', isolation: 'shared', session_ttl: '10m' });
    const call = await thv.run(['mcp', 'call', 'no-answer', '--server', 'b', '--timeout', '20s']);
    expect(call.stderr).toMatch(/timed? ?out/i);
    await thv.close();
  });
});
