import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { completionScript, shells } from '../src/completion-scripts.js';
import { openInProcess } from './support/in-process.js';

const hasShell = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0;

describe('thv completion', () => {
  it.each(shells)('prints a script for %s and nothing else', async (shell) => {
    const thv = await openInProcess();
    const { code, stdout, stderr } = await thv(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(completionScript(shell));
    expect(stdout).toContain('__complete');
  });

  it.skipIf(!hasShell('bash'))('works in bash', () => {
    const script = [
      completionScript('bash'),
      String.raw`thv() { [ "$1" = __complete ] && printf 'run\tRun a server\nrm\tRemove\n:4\n'; }`,
      'COMP_WORDS=(thv r); COMP_CWORD=1; _thv; echo "${COMPREPLY[@]}"',
    ].join('\n');
    expect(spawnSync('bash', ['-c', script], { encoding: 'utf8' }).stdout).toBe('run rm\n');
  });
});

describe('thv __complete', () => {
  it.each([
    [['r'], ['run', 'rm']],
    [
      ['group', ''],
      ['create', 'list', 'rm', 'help'],
    ],
    [['mcp', 'list', 'p'], ['prompts']],
    [
      ['run', '--isolation', ''],
      ['shared', 'session', 'principal', 'lease'],
    ],
    [
      ['run', '--isolation=s'],
      ['--isolation=shared', '--isolation=session'],
    ],
    [['list', '--format', 'm'], ['mcpservers']],
    [
      ['list', '--group', ''],
      ['default', 'web'],
    ],
    [['run', '--group', 'w'], ['web']],
    [
      ['group', 'rm', ''],
      ['default', 'web'],
    ],
    [['--debug', 'completion', 'f'], ['fish']],
    [['stop', '--t'], ['--timeout']],
    [['status', ''], []],
    [['nonsense', ''], undefined],
  ])('completes %j', async (words, expected) => {
    const thv = await openInProcess();
    await thv(['group', 'create', 'web']);
    const { code, stdout, stderr } = await thv(['__complete', ...words]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.pop()).toMatch(/^:[04]$/);
    if (expected !== undefined) expect(lines.map((line) => line.split('\t')[0])).toEqual(expected);
  });

  it.each([
    [['export', ''], ':4'],
    [['export', 'x', ''], ':0'],
    [['run', '--env-file', ''], ':0'],
    [['run', '--', ''], ':0'],
    [['list', ''], ':4'],
  ])('offers file names for %j: %s', async (words, directive) => {
    const thv = await openInProcess();
    const { stdout } = await thv(['__complete', ...words]);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(directive);
  });
});
