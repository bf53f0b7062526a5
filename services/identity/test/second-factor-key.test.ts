/** The replacement of `SECOND_FACTOR_KEY` (docs/guides/operators/keys.md). */
import { createLog } from '@fitness/shared/kernel/log.ts';
import { TOTP_STEP_MS } from '@fitness/shared/testing/totp.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openReplica } from './purge-support.ts';
import { codeOf, setUp } from './second-factor-support.ts';
import { type Harness, join, PASSWORD, startHarness } from './support.ts';

const NEXT = 'the next key for tests, thirty-two characters or more';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

interface Keys {
  SECOND_FACTOR_KEY: string;
  PREVIOUS_SECOND_FACTOR_KEY?: string;
}

/** A replica with these keys. `renew` runs one round, and returns what the log says about it. */
const open = async (keys: Keys) => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog({ service: 'identity', level: 'info', destination });
  const { useCases, dependencies, close } = await openReplica(
    { ...harness.config, ...keys },
    harness.clock,
    (others) => ({ ...others, log }),
  );
  const client = { address: '192.0.2.1', userAgent: undefined };
  return {
    signIn: async (login: string, totp: string): Promise<number> => {
      const match = await dependencies.store.users.findLogin(login);
      return (await useCases.signIn.signIn({ login, password: PASSWORD, totp, client, match })).user._id;
    },
    renew: async () => {
      await useCases.renewSecondFactors();
      const { renewed, unreadable } = JSON.parse(lines.at(-1) ?? '');
      return { renewed, unreadable };
    },
    close,
  };
};

test('the key can be replaced while replicas with the former and the next one run, and no code is refused', async () => {
  const FORMER = harness.config.SECOND_FACTOR_KEY;
  const [early, late] = [await join(harness), await join(harness)];
  const earlySecret = (await setUp(harness, early)).secret;
  const lateSecret = (await setUp(harness, late)).secret;
  const former = await open({ SECOND_FACTOR_KEY: FORMER, PREVIOUS_SECOND_FACTOR_KEY: NEXT });
  const next = await open({ SECOND_FACTOR_KEY: NEXT, PREVIOUS_SECOND_FACTOR_KEY: FORMER });
  const alone = await open({ SECOND_FACTOR_KEY: NEXT });
  try {
    const code = (): string => codeOf(harness, earlySecret);
    expect(await next.signIn(early.user.username, code())).toBe(early.id);
    await expect(alone.signIn(late.user.username, codeOf(harness, lateSecret))).rejects.toThrow();
    expect(await alone.renew()).toEqual({ renewed: 0, unreadable: 2 });
    expect(await former.renew()).toEqual({ renewed: 0, unreadable: 0 });
    expect(await next.renew()).toEqual({ renewed: 2, unreadable: 0 });
    expect(await next.renew()).toEqual({ renewed: 0, unreadable: 0 });
    expect(await alone.signIn(late.user.username, codeOf(harness, lateSecret))).toBe(late.id);
    harness.clock.advance(TOTP_STEP_MS);
    expect(await former.signIn(early.user.username, code())).toBe(early.id);
  } finally {
    for (const replica of [former, next, alone]) await replica.close();
  }
});

test('a factor that is removed while it is encrypted again does not come back', async () => {
  const person = await join(harness);
  await setUp(harness, person);
  const { dependencies, close } = await openReplica(harness.config, harness.clock);
  try {
    const { secondFactors, transaction } = dependencies.store;
    const secret = (await secondFactors.find(person.id))?.secret ?? '';
    await transaction((session) => secondFactors.delete(session, person.id));
    await secondFactors.renew(person.id, secret, 'encrypted again');
    expect(await secondFactors.find(person.id)).toBeNull();
  } finally {
    await close();
  }
});
