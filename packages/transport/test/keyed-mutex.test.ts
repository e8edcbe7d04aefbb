import { describe, expect, it } from 'vitest';
import { createKeyedMutex } from '../src/index.js';

describe('a lock for each key', () => {
  it('is served first come, first served, each key by itself', async () => {
    const mutex = createKeyedMutex();
    const log: string[] = [];
    const gates: (() => void)[] = [];
    const task = (name: string) => async () => {
      log.push(`${name} in`);
      await new Promise<void>((resolve) => gates.push(resolve));
      log.push(`${name} out`);
    };
    const all = [
      mutex.run('a', task('a1')),
      mutex.run('a', task('a2')),
      mutex.run('a', task('a3')),
      mutex.run('b', task('b1')),
    ];
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    await turn();
    expect(log).toEqual(['a1 in', 'b1 in']);
    expect(mutex.size).toBe(2);
    for (; gates.length > 0; await turn()) gates.shift()?.();
    await Promise.all(all);
    expect(log.filter((line) => line.startsWith('a'))).toEqual([
      'a1 in',
      'a1 out',
      'a2 in',
      'a2 out',
      'a3 in',
      'a3 out',
    ]);
    expect(mutex.size).toBe(0);
  });

  it('is released by a task that fails', async () => {
    const mutex = createKeyedMutex();
    await expect(mutex.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await mutex.run('a', () => 7)).toBe(7);
    expect(mutex.size).toBe(0);
  });

  it('may be released twice without harm', async () => {
    const mutex = createKeyedMutex();
    const release = await mutex.lock('a');
    const second = mutex.lock('a');
    release();
    release();
    const third = mutex.lock('a');
    let thirdHasIt = false;
    void third.then(() => {
      thirdHasIt = true;
    });
    const releaseSecond = await second;
    release();
    expect(thirdHasIt).toBe(false);
    releaseSecond();
    (await third)();
    expect(mutex.size).toBe(0);
  });

  it('lets go who no longer wants to wait, and the others move up', async () => {
    const mutex = createKeyedMutex();
    const gone = new Error('gone');
    await expect(mutex.lock('a', { signal: AbortSignal.abort(gone) })).rejects.toBe(gone);
    expect(mutex.size).toBe(0);
    const release = await mutex.lock('a');
    const controller = new AbortController();
    const impatient = mutex.lock('a', { signal: controller.signal });
    const patient = mutex.lock('a');
    controller.abort(gone);
    await expect(impatient).rejects.toBe(gone);
    release();
    (await patient)();
    expect(mutex.size).toBe(0);
  });
});
