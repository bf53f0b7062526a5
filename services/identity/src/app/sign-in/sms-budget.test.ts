import { createLog } from '@fitness/shared/kernel/log.ts';
import type { RateLimit } from '@fitness/shared/kernel/rate-limit.ts';
import { expect, test } from '@jest/globals';
import { limitsOf } from '../../config.ts';
import { createSmsBudget } from './sms-budget.ts';

const openBudget = (config: { SMS_ANONYMOUS_PER_PHONE: number; SMS_ANONYMOUS_DAILY_LIMIT: number }) => {
  const counts = new Map<string, number>();
  const consume = async ({ name, points: limit }: RateLimit, key: string) => {
    const used = counts.get(`${name} ${key}`) ?? 0;
    if (used < limit) counts.set(`${name} ${key}`, used + 1);
    return { allowed: used < limit, limit, remaining: Math.max(0, limit - used - 1), resetS: 60 };
  };
  const lines: { used: number }[] = [];
  const budgets: string[] = [];
  const { takeAnonymous, takeSignedIn } = createSmsBudget({
    limiter: { consume } as unknown as Parameters<typeof createSmsBudget>[0]['limiter'],
    limits: limitsOf(config as Parameters<typeof limitsOf>[0]),
    anonymousSmsCounter: {
      inc: ({ budget }: { budget: string }) => void budgets.push(budget),
    } as Parameters<typeof createSmsBudget>[0]['anonymousSmsCounter'],
    log: createLog({
      service: 'identity',
      level: 'error',
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    }),
  });
  return { takeAnonymous, takeSignedIn, budgets, alerts: () => lines.map(({ used }) => used) };
};

test('anonymously requested SMS share a daily limit, with an alert at 80 %', async () => {
  const { takeAnonymous, takeSignedIn, budgets, alerts } = openBudget({
    SMS_ANONYMOUS_PER_PHONE: 6,
    SMS_ANONYMOUS_DAILY_LIMIT: 5,
  });
  const taken = [];
  for (let phone = 1; phone <= 6; phone += 1) taken.push(await takeAnonymous(`phone ${phone}`, false));
  expect(taken).toEqual([true, true, true, true, true, false]);
  expect(budgets).toEqual(['ok', 'ok', 'ok', 'alert', 'alert', 'spent']);
  expect(alerts()).toEqual([4, 5]);
  // An owner who has signed in still gets a code.
  await takeSignedIn('phone 6');
});

test('the last of a phone’s six SMS a day is for known networks, and other phones have their own', async () => {
  const { takeAnonymous } = openBudget({ SMS_ANONYMOUS_PER_PHONE: 6, SMS_ANONYMOUS_DAILY_LIMIT: 100 });
  const taken = [];
  for (let call = 1; call <= 6; call += 1) taken.push(await takeAnonymous('phone', false));
  expect(taken).toEqual([true, true, true, true, true, false]);
  expect(await takeAnonymous('phone', true)).toBe(true);
  expect(await takeAnonymous('phone', true)).toBe(false);
  expect(await takeAnonymous('other phone', false)).toBe(true);
});
