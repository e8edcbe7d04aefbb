import { readdirSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('.', import.meta.url));

/** Every folder below `packages` and `apps` that has tests, the examples, and the rules about the repository. */
const folders = [
  ...['packages', 'apps'].flatMap((parent) => readdirSync(`${root}${parent}`).map((name) => `${parent}/${name}`)),
  'examples',
  '.',
].filter((folder) => existsSync(`${root}${folder}/test`));

export default defineConfig({
  ssr: { resolve: { conditions: ['@thv/source'], externalConditions: ['@thv/source'] } },
  test: {
    maxWorkers: 2,
    projects: folders.map((folder) => ({
      extends: true as const,
      root: `${root}${folder}`,
      test: {
        name: folder === '.' ? 'repository' : (folder.split('/').pop() ?? folder),
        include: folder === '.' ? ['test/*.test.ts'] : ['test/**/*.test.ts'],
        testTimeout: 60_000,
        hookTimeout: 60_000,
      },
    })),
  },
});
