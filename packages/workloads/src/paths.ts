import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Environment } from './environment.js';

/** Where everything lives; all absolute. Nothing is created by asking for it. */
export interface Paths {
  /** `$XDG_CONFIG_HOME/toolhive` */
  readonly config: string;
  /** `$XDG_DATA_HOME/toolhive` */
  readonly data: string;
  /** `$XDG_STATE_HOME/toolhive` */
  readonly state: string;
  /** `$XDG_CACHE_HOME/toolhive` */
  readonly cache: string;
  /** Logs of the proxies, `NAME.log`; those of the servers in the folder `servers` below. */
  readonly logs: string;
  readonly serverLogs: string;
  readonly pids: string;
  readonly statuses: string;
  readonly runConfigs: string;
  readonly groups: string;
}

/** Options of {@link resolvePaths}. */
export interface ResolvePathsOptions {
  readonly env: Environment;
  /** @defaultValue the platform that runs */
  readonly platform?: NodeJS.Platform;
  /** @defaultValue the home folder of the user that runs */
  readonly home?: string;
}

/**
 * Finds the folders of this user. A variable with a relative path counts as unset, as the specification asks.
 *
 * @see https://specifications.freedesktop.org/basedir-spec/latest/
 */
export function resolvePaths({ env, platform = process.platform, home }: ResolvePathsOptions): Paths {
  const userHome = home ?? env['HOME'] ?? env['USERPROFILE'] ?? homedir();
  const base = (variable: string, ...fallback: string[]): string => {
    const value = env[variable];
    return join(value !== undefined && isAbsolute(value) ? value : join(...fallback), 'toolhive');
  };
  const mac = join(userHome, 'Library', 'Application Support');
  const windows = env['LOCALAPPDATA'] ?? join(userHome, 'AppData', 'Local');
  const fallback = (...linux: string[]): string[] => {
    if (platform === 'darwin') return [mac];
    if (platform === 'win32') return [windows];
    return [userHome, ...linux];
  };
  const config = base('XDG_CONFIG_HOME', ...fallback('.config'));
  const data = base('XDG_DATA_HOME', ...fallback('.local', 'share'));
  const state = base('XDG_STATE_HOME', ...fallback('.local', 'state'));
  const cache = base(
    'XDG_CACHE_HOME',
    ...(platform === 'darwin' ? [join(userHome, 'Library', 'Caches')] : fallback('.cache')),
  );
  return {
    config,
    data,
    state,
    cache,
    logs: join(data, 'logs'),
    serverLogs: join(data, 'logs', 'servers'),
    pids: join(data, 'pids'),
    statuses: join(data, 'statuses'),
    runConfigs: join(state, 'runconfigs'),
    groups: join(state, 'groups'),
  };
}
