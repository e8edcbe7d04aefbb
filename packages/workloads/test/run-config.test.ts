import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRunConfigStore, parseRunConfig, runConfigSchema } from '../src/index.js';
import { configOf, temporaryPaths } from './support.js';

const parse = (value: unknown) => parseRunConfig(JSON.stringify(value), '/x/a.json', 'correct it');

describe('parseRunConfig', () => {
  it('gives back what was written', () => {
    const config = configOf('a', {
      port: 4711,
      env_vars: { A: '1', __proto__x: 'y' },
      session_ttl: '30m',
      working_dir: '/srv',
      isolation: 'session',
      state_key_file: '/srv/keys',
      allowed_origins: ['https://example.com'],
    });
    expect(parse(config)).toEqual(config);
  });

  it('fills in what is missing', () => {
    expect(parse({ name: 'a', command: 'x' })).toEqual({ ...configOf('a', { command: 'x', cmd_args: [] }) });
  });

  it('reads a configuration of the wider format whose extra fields ask for nothing', () => {
    const wide = {
      name: 'a',
      command: 'x',
      secrets: [],
      isolate_network: false,
      oidc_config: null,
      base_name: 'a',
      debug: true,
    };
    expect(parse(wide).name).toBe('a');
  });

  it.each([
    [{ name: 'a', image: 'ghcr.io/x/y:1' }, 'container image "ghcr.io/x/y:1"'],
    [{ name: 'a', command: 'x', secrets: ['k,target=K'] }, '"secrets"'],
    [{ name: 'a', command: 'x', authz_config: { version: '1' } }, '"authz_config"'],
    [{ name: 'a', command: 'x', tools_filter: ['t'] }, '"tools_filter"'],
    [{ name: 'a', command: 'x', isolate_network: true }, '"isolate_network"'],
  ])('refuses %j with ERR_WORKLOADS_UNSUPPORTED instead of ignoring it', (value, text) => {
    expect(() => parse(value)).toThrow(expect.objectContaining({ code: 'ERR_WORKLOADS_UNSUPPORTED' }));
    expect(() => parse(value)).toThrow(text);
  });

  it.each([
    ['{', '/x/a.json:1:'],
    ['{\n"name": "a",\n"command" "x"}', '/x/a.json:3:'],
    ['[]', 'expected a JSON object, got an array'],
    ['"x"', 'expected a JSON object'],
    ['{"name":"a","command":"x","port":"80"}', '"port" to be a whole number from 0 to 65535, got `80` (string)'],
    ['{"name":"a","command":"x","port":70000}', '"port"'],
    ['{"name":"a","command":"x","cmd_args":["a",1]}', '"cmd_args[1]" to be text'],
    ['{"name":"a","command":"x","env_vars":{"A":1}}', '"env_vars.A" to be text'],
    ['{"name":"a","command":"x","isolation":"own"}', '"isolation" to be one of shared, session, principal, lease'],
    ['{"name":"a","command":"x","prot":1}', 'unknown field "prot"'],
  ])('refuses %s with ERR_WORKLOADS_FILE', (text, message) => {
    expect(() => parseRunConfig(text, '/x/a.json', 'correct it')).toThrow(message);
    expect(() => parseRunConfig(text, '/x/a.json', 'correct it')).toThrow(
      expect.objectContaining({
        code: 'ERR_WORKLOADS_FILE',
        details: expect.objectContaining({ file: '/x/a.json', hint: 'correct it' }) as unknown,
      }),
    );
  });
});

describe('the schema of a run configuration', () => {
  it('names exactly the fields that are written, and their choices', () => {
    const written = Object.keys(
      configOf('a', {
        session_ttl: '1h',
        working_dir: '/',
        state_key_file: '/k',
        remote_url: 'https://a',
        target_port: 1,
        target_host: 'a',
        endpoint_prefix: 'a',
        trust_proxy_headers: true,
        thv_ca_bundle: 'a',
      }),
    );
    const named = Object.keys(runConfigSchema.properties).filter((name) => name !== '$schema');
    expect(named.toSorted()).toEqual(written.toSorted());
    for (const isolation of runConfigSchema.properties.isolation.enum) {
      expect(parse({ command: 'x', isolation }).isolation).toBe(isolation);
    }
    for (const transport of runConfigSchema.properties.transport.enum) {
      expect(parse({ command: 'x', transport }).transport).toBe(transport);
    }
  });

  it('gives the defaults that the parser fills in', () => {
    const parsed: Record<string, unknown> = { ...parse({ command: 'x' }) };
    for (const [name, property] of Object.entries(runConfigSchema.properties)) {
      if ('default' in property) expect(parsed[name], name).toEqual(property.default);
    }
  });
});

describe('the store of run configurations', () => {
  it('writes files that nobody else can read', async () => {
    const store = createRunConfigStore(await temporaryPaths());
    await store.create(configOf('a'));
    const path = store.pathOf('a');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
    await store.write(configOf('a', { port: 1 }));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ name: 'a', port: 1 });
  });

  it('lets exactly one of several creators have a name', async () => {
    const store = createRunConfigStore(await temporaryPaths());
    const results = await Promise.allSettled([1, 2, 3].map(async (port) => store.create(configOf('a', { port }))));
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(2);
    for (const result of refused) {
      expect(result).toMatchObject({
        reason: { code: 'ERR_WORKLOADS_NAME_IN_USE', message: expect.stringContaining('already exists') as unknown },
      });
    }
  });

  it('goes by the name of the file', async () => {
    const store = createRunConfigStore(await temporaryPaths());
    await store.create(configOf('a'));
    await writeFile(store.pathOf('b'), JSON.stringify(configOf('a')));
    expect((await store.read('b')).name).toBe('b');
    expect(await store.names()).toEqual(['a', 'b']);
  });

  it('removes what a killed writer left, and no other file', async () => {
    const store = createRunConfigStore(await temporaryPaths());
    await store.create(configOf('a'));
    for (const name of ['a.json.12345', 'a.json.backup', 'a.json.1.json']) {
      await writeFile(join(dirname(store.pathOf('a')), name), '{}');
    }
    expect(await store.names()).toEqual(['a', 'a.json.1']);
    await store.remove('a');
    await store.remove('a');
    expect((await readdir(dirname(store.pathOf('a')))).toSorted()).toEqual(['a.json.1.json', 'a.json.backup']);
  });

  it('is empty before the first write, and says what is not there', async () => {
    const store = createRunConfigStore(await temporaryPaths());
    expect(await store.names()).toEqual([]);
    await expect(store.read('a')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_NOT_FOUND' });
    await expect(store.read('../a')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_NAME' });
    await expect(store.create(configOf('../a'))).rejects.toMatchObject({ code: 'ERR_WORKLOADS_NAME' });
  });

  it('says which file cannot be read', async () => {
    const store = createRunConfigStore(await temporaryPaths());
    await mkdir(store.pathOf('a'), { recursive: true });
    await expect(store.read('a')).rejects.toMatchObject({
      code: 'ERR_WORKLOADS_FILE',
      details: { file: store.pathOf('a') },
    });
  });
});
