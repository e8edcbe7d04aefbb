import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DeadlineWheel } from '../src/deadlines.js';
import { Semaphore } from '../src/semaphore.js';
import { ManualClock, settled } from './support/clock.js';

class Entry {
  slot = 0;
  due: number;
  readonly calls: number[] = [];

  constructor(due: number) {
    this.due = due;
  }

  onDue(now: number): void {
    this.calls.push(now);
  }
}

describe('the wheel of deadlines', () => {
  it('calls each entry once, never early and at most one tick late, whatever is moved or removed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            after: fc.integer({ min: 0, max: 2000 }),
            removed: fc.boolean(),
            movedTo: fc.option(fc.integer({ min: 0, max: 2000 })),
          }),
          { maxLength: 30 },
        ),
        async (plans) => {
          const clock = new ManualClock();
          const start = clock.now();
          const wheel = new DeadlineWheel(clock);
          const entries = plans.map(({ after, removed, movedTo }) => {
            const entry = new Entry(start + after);
            wheel.add(entry);
            if (removed) {
              wheel.remove(entry);
            } else if (movedTo !== null) {
              entry.due = start + movedTo;
              wheel.add(entry);
            }
            return { entry, removed };
          });
          await clock.advance(3000);
          for (const { entry, removed } of entries) {
            expect(entry.calls).toHaveLength(removed ? 0 : 1);
            const [at = entry.due] = entry.calls;
            expect(at - entry.due).toBeGreaterThanOrEqual(0);
            expect(at - entry.due).toBeLessThanOrEqual(50);
          }
          expect(wheel.size).toBe(0);
          expect(clock.pending).toBe(0);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('takes a deadline that moved later while it waited', async () => {
    const clock = new ManualClock();
    const wheel = new DeadlineWheel(clock);
    const entry = new Entry(clock.now() + 100);
    wheel.add(entry);
    entry.due += 1000;
    await clock.advance(500);
    expect(entry.calls).toEqual([]);
    await clock.advance(700);
    expect(entry.calls).toHaveLength(1);
  });
});

describe('the semaphore', () => {
  it('does not count a release twice', async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire();
    release();
    release();
    await semaphore.acquire();
    let second = false;
    void semaphore.acquire().then(() => {
      second = true;
    });
    await settled();
    expect(second).toBe(false);
  });
});
