import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

/** An empty home folder, and the environment that makes a child process use it. */
export interface TemporaryHome {
  readonly home: string;
  /** The test's own environment with `HOME` and the XDG directories moved; npm keeps its real cache. */
  readonly env: Readonly<Record<string, string>>;
  /** Removes the folder. Idempotent. */
  close(): Promise<void>;
}

const inherited = ['PATH', 'LANG', 'TZ', 'TMPDIR', 'SystemRoot', 'npm_config_userconfig', 'npm_config_registry'];

/** Makes an empty home folder; the caller closes it. */
export async function openTemporaryHome(): Promise<TemporaryHome> {
  const home = await mkdtemp(join(tmpdir(), 'thv-home-'));
  const env: Record<string, string> = {};
  for (const name of inherited) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  env.HOME = home;
  env.npm_config_cache = process.env.npm_config_cache ?? join(homedir(), '.npm');
  for (const kind of ['config', 'data', 'state', 'cache', 'runtime']) {
    const path = join(home, kind);
    await mkdir(path, { mode: 0o700 });
    env[kind === 'runtime' ? 'XDG_RUNTIME_DIR' : `XDG_${kind.toUpperCase()}_HOME`] = path;
  }
  return { home, env, close: () => rm(home, { recursive: true, force: true, maxRetries: 3 }) };
}

/** Runs a test inside an empty home folder and removes it afterwards, also after a failure. */
export async function withTemporaryHome<T>(action: (home: TemporaryHome) => Promise<T>): Promise<T> {
  const opened = await openTemporaryHome();
  try {
    return await action(opened);
  } finally {
    await opened.close();
  }
}
