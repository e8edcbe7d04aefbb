import { describe, expect, it } from 'vitest';
import { resolvePaths } from '../src/index.js';

describe('resolvePaths', () => {
  it('uses the XDG variables', () => {
    const env = { XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: '/d', XDG_STATE_HOME: '/s', XDG_CACHE_HOME: '/k' };
    expect(resolvePaths({ env, platform: 'linux', home: '/home/u' })).toEqual({
      config: '/c/toolhive',
      data: '/d/toolhive',
      state: '/s/toolhive',
      cache: '/k/toolhive',
      logs: '/d/toolhive/logs',
      serverLogs: '/d/toolhive/logs/servers',
      pids: '/d/toolhive/pids',
      statuses: '/d/toolhive/statuses',
      runConfigs: '/s/toolhive/runconfigs',
      groups: '/s/toolhive/groups',
    });
  });

  it.each([
    ['linux', {}, '/home/u/.config/toolhive', '/home/u/.local/state/toolhive'],
    [
      'linux',
      { XDG_CONFIG_HOME: 'relative', XDG_STATE_HOME: '' },
      '/home/u/.config/toolhive',
      '/home/u/.local/state/toolhive',
    ],
    ['linux', { HOME: '/other' }, '/home/u/.config/toolhive', '/home/u/.local/state/toolhive'],
    ['darwin', {}, '/home/u/Library/Application Support/toolhive', '/home/u/Library/Application Support/toolhive'],
    ['win32', { LOCALAPPDATA: '/local' }, '/local/toolhive', '/local/toolhive'],
  ] as const)('falls back on %s with %j', (platform, env, config, state) => {
    const paths = resolvePaths({ env, platform, home: '/home/u' });
    expect([paths.config, paths.state]).toEqual([config, state]);
  });
});
