import { describe, expect, it } from 'vitest';
import { parseRunConfig, urlOf } from '../src/index.js';
import { healthSettings, looksAtRemotes } from '../src/health-settings.js';

const parse = (fields: object) => parseRunConfig(JSON.stringify(fields), 'x.json', 'correct x.json');

describe('the configuration of a server that speaks HTTP', () => {
  it('of a remote needs no command, and speaks Streamable HTTP unless it says otherwise', () => {
    expect(parse({ name: 'a', remote_url: 'https://host/mcp' })).toMatchObject({
      remote_url: 'https://host/mcp',
      command: '',
      transport: 'streamable-http',
      proxy_mode: 'streamable-http',
    });
    expect(parse({ remote_url: 'https://host/sse', transport: 'sse' })).toMatchObject({ proxy_mode: 'sse' });
  });

  it('keeps what it says about the port, the prefix and the certificates', () => {
    const http = {
      target_port: 9000,
      target_host: '::1',
      endpoint_prefix: '/p',
      trust_proxy_headers: true,
      thv_ca_bundle: '/ca.pem',
    };
    expect(parse({ command: 'x', transport: 'streamable-http', ...http })).toMatchObject(http);
    expect(parse({ command: 'x', proxy_mode: 'sse' })).toMatchObject({ transport: 'stdio', proxy_mode: 'sse' });
  });

  it.each([
    [{ remote_url: 'ftp://x' }, /no http or https URL/],
    [{ remote_url: 'https://a:b@x' }, /user or a password/],
    [{ remote_url: 'https://x', command: 'y' }, /both a "command" and a "remote_url"/],
    [{ remote_url: 'https://x', transport: 'stdio' }, /cannot speak stdio/],
    [{ command: 'x', target_port: 70_000 }, /target_port/],
  ])('%j is refused', (fields, text) => {
    expect(() => parse(fields)).toThrow(
      expect.objectContaining({ code: 'ERR_WORKLOADS_FILE', message: expect.stringMatching(text) as string }) as Error,
    );
  });
});

describe('the address of an endpoint', () => {
  const base = { host: '127.0.0.1', port: 80, name: 'a b' };
  it.each([
    [{}, 'http://127.0.0.1:80/mcp'],
    [{ proxy_mode: 'sse' as const }, 'http://127.0.0.1:80/sse#a%20b'],
    [{ transport: 'sse' as const }, 'http://127.0.0.1:80/sse#a%20b'],
    [{ transport: 'streamable-http' as const }, 'http://127.0.0.1:80/mcp'],
    [{ transport: 'streamable-http' as const, remote_url: 'https://h/a%2Fb?x=1' }, 'http://127.0.0.1:80/a%2Fb'],
    [{ transport: 'streamable-http' as const, remote_url: 'https://h/' }, 'http://127.0.0.1:80'],
    [{ transport: 'sse' as const, remote_url: 'https://h' }, 'http://127.0.0.1:80/sse#a%20b'],
    [{ host: '::', endpoint_prefix: 'p/' }, 'http://[::1]:80/p/mcp'],
  ])('with %j is %s', (parts, url) => {
    expect(urlOf({ ...base, ...parts })).toBe(url);
  });
});

describe('the settings for looking at a server', () => {
  it('are taken from the environment', () => {
    const warnings: string[] = [];
    const env = {
      TOOLHIVE_HEALTH_CHECK_INTERVAL: '30s',
      TOOLHIVE_HEALTH_CHECK_PING_TIMEOUT: '500ms',
      TOOLHIVE_HEALTH_CHECK_RETRY_DELAY: '1m30s',
      TOOLHIVE_HEALTH_CHECK_FAILURE_THRESHOLD: '1',
    };
    expect(healthSettings(env, (text) => warnings.push(text))).toEqual({
      intervalMs: 30_000,
      pingTimeoutMs: 500,
      retryDelayMs: 90_000,
      failureThreshold: 1,
    });
    expect(warnings).toEqual([]);
  });

  it.each([
    ['TOOLHIVE_HEALTH_CHECK_INTERVAL', '0s'],
    ['TOOLHIVE_HEALTH_CHECK_INTERVAL', 'soon'],
    ['TOOLHIVE_HEALTH_CHECK_FAILURE_THRESHOLD', '0'],
    ['TOOLHIVE_HEALTH_CHECK_FAILURE_THRESHOLD', '1.5'],
  ])('leave the default for %s=%s, and say so', (name, value) => {
    const warnings: string[] = [];
    expect(healthSettings({ [name]: value }, (text) => warnings.push(text))).toEqual({});
    expect(warnings).toEqual([expect.stringContaining(`("${value}")`)]);
  });

  it.each([
    ['true', true],
    ['TRUE', true],
    ['1', true],
    ['yes', false],
    [undefined, false],
  ])('look at remotes for %j: %s', (value, expected) => {
    expect(looksAtRemotes({ TOOLHIVE_REMOTE_HEALTHCHECKS: value })).toBe(expected);
  });
});
