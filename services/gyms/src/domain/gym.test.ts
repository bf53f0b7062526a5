import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { appCaller, caller, restrictedCaller } from '@fitness/shared/testing/harness.ts';
import { describe, expect, test } from '@jest/globals';
import { crowdLevel, existsForChange, neededForUpdate, ratingAverage, sees, seesAllOf } from './gym.ts';

const active = { ownerId: 1, isActive: true };
const inactive = { ownerId: 1, isActive: false };

describe('permissions', () => {
  test('an owner’s restricted or OAuth token sees owner fields only with gyms.update or gyms.view_all', () => {
    for (const token of [restrictedCaller, appCaller]) {
      const seen = [token(1, 'gyms.create'), token(1, 'gyms.update'), token(1, 'gyms.view_all')];
      expect(seen.map((one) => sees(inactive, one))).toEqual([false, true, true]);
      expect(seen.map((one) => seesAllOf(active, one))).toEqual([false, true, true]);
    }
  });

  test('an inactive gym is seen by its owner and by gyms.view_all', () => {
    expect(sees(active, GUEST)).toBe(true);
    expect([GUEST, caller(2), caller(2, ['gyms.update_any'])].map((one) => sees(inactive, one))).toEqual([
      false,
      false,
      false,
    ]);
    expect([caller(1, []), caller(2, ['gyms.view_all'])].map((one) => sees(inactive, one))).toEqual([
      true,
      true,
    ]);
    expect(seesAllOf({ ownerId: null }, GUEST)).toBe(false);
  });

  test('gyms.update covers the owner’s gym, and gyms.update_any covers every gym', () => {
    expect(neededForUpdate(active, caller(1, ['gyms.update']))).toBe('gyms.update');
    expect(neededForUpdate(active, caller(1, []))).toBe('gyms.update');
    expect(neededForUpdate(active, caller(1, ['gyms.update_any']))).toBe('gyms.update_any');
    expect(neededForUpdate(active, caller(2, ['gyms.update']))).toBe('gyms.update_any');
    expect(neededForUpdate({ ownerId: null }, caller(2, ['gyms.update']))).toBe('gyms.update_any');
    expect(existsForChange(inactive, caller(2, ['gyms.update']))).toBe(false);
    expect(existsForChange(inactive, caller(2, ['gyms.update_any']))).toBe(true);
  });
});

test.each([
  [0, 'low'],
  [49, 'low'],
  [50, 'medium'],
  [79, 'medium'],
  [80, 'high'],
  [99, 'high'],
  [100, 'full'],
  [140, 'full'],
])('a crowd of %i of 100 is %s', (current, level) => {
  expect(crowdLevel({ current, capacity: 100 })).toBe(level);
});

test('the average of ratings is exact, and 0 without ratings', () => {
  expect(ratingAverage({ ratingSum: 0, ratingCount: 0 })).toBe(0);
  expect(ratingAverage({ ratingSum: 10, ratingCount: 3 })).toBe(10 / 3);
});
