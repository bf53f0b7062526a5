import { describe, expect, test } from '@jest/globals';
import { createPasswords } from './passwords.ts';

const LONG_MS = 600_000;

describe('the queue of password checks', () => {
  test('an honest check is not queued behind forty bogus ones of another address', async () => {
    const passwords = await createPasswords(LONG_MS);
    const passwordHash = await passwords.hash('its password', 'honest');
    let bogus = 0;
    const flood = Array.from({ length: 40 }, () =>
      passwords.verifyDummy('a guess', 'flooding').then(() => {
        bogus += 1;
      }),
    );
    expect(await passwords.verify(passwordHash, 'its password', 'honest')).toBe(true);
    // In the order of the calls it would be last. Checks that run at the same time can finish before it.
    expect(bogus).toBeLessThan(20);
    await Promise.all(flood);
  });

  test('the queue holds what can be served in its time, and refuses further checks of an address at once', async () => {
    const passwords = await createPasswords(1);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, () => passwords.verifyDummy('a guess', 'flooding')),
    );
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    // At most three run and one waits.
    expect(refused.length).toBeGreaterThanOrEqual(36);
    for (const outcome of refused) {
      expect(outcome).toMatchObject({ reason: { kind: 'unavailable', retryAfterS: 1 } });
    }
    expect(await passwords.verifyDummy('a guess', 'flooding')).toBe(false);
  });
});

test('the many networks of one home line do not take the places of other clients', async () => {
  // The queue has one place.
  const passwords = await createPasswords(1);
  const refused: string[] = [];
  const check = (address: string): Promise<unknown> =>
    passwords.verifyDummy('a password', address).catch(() => refused.push(address));
  const line = (from: number): string[] =>
    Array.from({ length: 60 }, (_, index) => `2001:db8:0:${(from + index).toString(16)}::/64`);
  const before = line(0).map(check);
  const honest = check('2001:db8:0:100::/64');
  const after = line(100).map(check);
  await Promise.all([...before, honest, ...after]);
  expect(refused.length).toBeGreaterThan(100);
  expect(refused).not.toContain('2001:db8:0:100::/64');
});

test('passwords are hashed with argon2id at the cost of production by default', async () => {
  const passwords = await createPasswords(LONG_MS);
  expect(await passwords.hash('a password', 'honest')).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
});
