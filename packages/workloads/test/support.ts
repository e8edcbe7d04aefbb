import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { resolvePaths } from '../src/index.js';
import type { Paths, RunConfig } from '../src/index.js';

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** An empty folder that is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'thv-workloads-'));
  folders.push(folder);
  return folder;
}

/** Paths below an empty folder. */
export async function temporaryPaths(): Promise<Paths> {
  const home = await temporaryFolder();
  return resolvePaths({ env: {}, home, platform: 'linux' });
}

/** A configuration of a server that is never started in most tests. */
export function configOf(name: string, changes: Partial<RunConfig> = {}): RunConfig {
  return {
    schema_version: 'v0.1.0',
    name,
    image: '',
    command: process.execPath,
    cmd_args: ['server.mjs'],
    transport: 'stdio',
    proxy_mode: 'streamable-http',
    host: '127.0.0.1',
    port: 0,
    group: 'default',
    env_vars: {},
    container_labels: {},
    isolation: 'shared',
    backend_era: 'auto',
    stateless: false,
    strict_protocol_validation: false,
    allowed_origins: [],
    ...changes,
  };
}
