import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../src/index.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('the clock calls back after delays that the system cannot take in one piece', () => {
  const days = 60 * 24 * 60 * 60 * 1_000;
  const called = vi.fn();
  systemClock.setTimer(days, called);
  vi.advanceTimersByTime(days - 1);
  expect(called).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(called).toHaveBeenCalledOnce();
  vi.advanceTimersByTime(2 * days);
  expect(called).toHaveBeenCalledOnce();
});

it('the clock forgets a timer that was cancelled, also between two pieces', () => {
  const called = vi.fn();
  const cancel = systemClock.setTimer(3_000_000_000, called);
  vi.advanceTimersByTime(2_500_000_000);
  cancel();
  vi.advanceTimersByTime(1_000_000_000);
  systemClock.setTimer(10, called)();
  vi.advanceTimersByTime(100);
  expect(called).not.toHaveBeenCalled();
});
