import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openInProcess } from './support/in-process.js';
import { hostile, openThv } from './support/thv.js';
import type { Thv } from './support/thv.js';

describe('groups without servers', () => {
  it('are created, listed in order, and removed after a question', async () => {
    const thv = await openInProcess();
    expect((await thv(['group', 'create', 'web'])).stdout).toBe("Group 'web' created successfully.\n");
    expect((await thv(['group', 'create', 'web'])).stderr).toContain("group 'web' already exists");
    await thv(['group', 'create', 'api']);
    expect((await thv(['group', 'list'])).stdout).toBe('NAME\napi\ndefault\nweb\n');
    expect(JSON.parse((await thv(['group', 'list', '--format', 'json'])).stdout)).toContainEqual({
      name: 'web',
      registered_clients: [],
    });

    const cancelled = await thv(['group', 'rm', 'web'], { input: 'n\n' });
    expect(cancelled).toMatchObject({ code: 0, stdout: 'Group deletion cancelled.\n' });
    expect(cancelled.stderr).toContain('WARNING:');
    expect((await thv(['group', 'rm', 'web'], { input: '' })).stdout).toBe('Group deletion cancelled.\n');
    expect((await thv(['group', 'rm', 'web'], { input: 'yes\n' })).stdout).toBe("Group 'web' deleted successfully\n");
    expect((await thv(['group', 'rm', 'api', '--yes'])).stdout).toBe("Group 'api' deleted successfully\n");
    expect((await thv(['group', 'list'])).stdout).toBe('NAME\ndefault\n');
  });

  it.each([
    [['list', '--group', 'web'], "No MCP servers found in group 'web'\n"],
    [['stop', '--group', 'web'], "No running MCP servers found in group 'web'\n"],
    [['rm', '--group', 'web'], "No workloads found in group 'web'\n"],
    [['start', '--group', 'web'], "No workloads found in group 'web'\n"],
    [['stop', '--all'], 'No running workloads to stop\n'],
    [['start', '--all'], 'No MCP servers found to start\n'],
    [['rm', '--all'], 'No workloads to remove\n'],
    [['stop', 'nobody'], 'one or more workloads are not running: nobody\n'],
  ])('%j says that there is nothing', async (args, text) => {
    const thv = await openInProcess();
    await thv(['group', 'create', 'web']);
    expect(await thv(args)).toMatchObject({ code: 0, stdout: text });
    const json = await thv([...args, '--format', 'json']);
    expect(JSON.parse(json.stdout)).toEqual([]);
  });
});

describe('groups with servers', () => {
  let thv: Thv;

  beforeAll(async () => {
    thv = await openThv();
  });

  afterEach(async () => {
    await thv.run(['rm', '--all']);
  });

  afterAll(async () => {
    await thv.close();
  });

  const membersOf = async (group: string): Promise<string[]> =>
    (await thv.json<{ name: string }[]>(['list', '--all', '--group', group])).map(({ name }) => name);

  it('are filters for list, stop, start and rm', async () => {
    await thv.ok(['group', 'create', 'web']);
    await thv.ok(['run', '--name', 'inside', '--group', 'web', '--', ...hostile()]);
    await thv.ok(['run', '--name', 'outside', '--', ...hostile()]);
    expect(await membersOf('web')).toEqual(['inside']);
    expect(await membersOf('default')).toEqual(['outside']);
    expect(await thv.ok(['stop', '--group', 'web'])).toBe('workload inside stopped successfully');
    expect(await thv.ok(['start', '-g', 'web'])).toBe('workload inside started successfully');
    expect(await thv.ok(['rm', '--group', 'web'])).toBe(
      "workload inside removed successfully\nSuccessfully removed 1 workload(s) from group 'web'",
    );
    expect(await membersOf('default')).toEqual(['outside']);
  });

  it('move their servers to the default group when they are removed, or take them along', async () => {
    await thv.ok(['group', 'create', 'old']);
    await thv.ok(['run', '--name', 'kept', '--group', 'old', '--', ...hostile()]);
    const moved = await thv.run(['group', 'rm', 'old'], { input: 'y\n' });
    expect(moved.stdout).toBe("Removed 1 workload(s) from group 'old'\nGroup 'old' deleted successfully\n");
    expect(moved.stderr).toContain("   - kept (will be moved to the 'default' group)");
    expect(await membersOf('default')).toEqual(['kept']);
    expect(await thv.json(['status', 'kept'])).toMatchObject({ status: 'running', group: 'default' });

    await thv.ok(['group', 'create', 'gone']);
    await thv.ok(['run', '--name', 'lost', '--group', 'gone', '--', ...hostile()]);
    const removed = await thv.run(['group', 'rm', 'gone', '--with-workloads'], { input: 'y\n' });
    expect(removed.stdout).toBe("Deleted 1 workload(s) from group 'gone'\nGroup 'gone' deleted successfully\n");
    expect(removed.stderr).toContain('(will be DELETED)');
    expect(await membersOf('default')).toEqual(['kept']);
  });
});
