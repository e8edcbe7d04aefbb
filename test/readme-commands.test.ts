import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(`${root}README.md`, 'utf8');
const commands = [...readme.matchAll(/^\$ (.+)$/gm)].map(([, line = '']) => line);
const home = mkdtempSync(join(tmpdir(), 'thv-readme-'));
const env = {
  ...process.env,
  HOME: home,
  XDG_CONFIG_HOME: join(home, 'config'),
  XDG_DATA_HOME: join(home, 'data'),
  XDG_STATE_HOME: join(home, 'state'),
  XDG_CACHE_HOME: join(home, 'cache'),
  npm_config_cache: process.env.npm_config_cache ?? join(process.env.HOME ?? home, '.npm'),
};

afterAll(() => {
  spawnSync('npx', ['thv', 'rm', 'everything'], { cwd: root, env });
  rmSync(home, { recursive: true, force: true });
  rmSync(`${root}my-skill`, { recursive: true, force: true });
});

describe('README.md', () => {
  it.each(commands.filter((line) => line.startsWith('npm ')))('names a script that exists: %s', (line) => {
    const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { scripts: Record<string, string> };
    const name = line.startsWith('npm run ') ? line.split(' ')[2] : line.split(' ')[1];
    expect(scripts).toHaveProperty([name ?? '']);
  });

  it.each(commands.filter((line) => line.startsWith('npx thv ')))('shows a command that works: %s', (line) => {
    const run = spawnSync('sh', ['-c', line], { cwd: root, env, encoding: 'utf8', timeout: 55_000 });
    expect(run.status, `${run.stdout}\n${run.stderr}`).toBe(0);
  });
});

const pages = ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', 'SECURITY.md']
  .concat(readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`))
  .concat(readdirSync(`${root}packages`).map((name) => `packages/${name}/README.md`))
  .filter((page) => page.endsWith('.md') && !page.startsWith('docs/api') && existsSync(root + page));

describe('the pages', () => {
  it.each(pages)('%s links to files that exist', (page) => {
    const text = readFileSync(root + page, 'utf8');
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)) {
      expect(existsSync(resolve(dirname(root + page), target)), `${page} → ${target}`).toBe(true);
    }
  });
});
