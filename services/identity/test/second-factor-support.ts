/** Users with an authenticator app. */
import type { Answer } from '@fitness/shared/testing/harness.ts';
import { TOTP_STEP_MS, totpOf } from '@fitness/shared/testing/totp.ts';
import { type Harness, newAddress, PASSWORD, type Person } from './support.ts';

interface Authenticator {
  secret: string;
  recoveryCodes: string[];
}

/** The code that the app shows now, or `steps` later; negative for earlier. */
export const codeOf = ({ clock }: Harness, secret: string, steps = 0): string =>
  totpOf(secret, new Date(clock.now().getTime() + steps * TOTP_STEP_MS));

/** A code that belongs to none of the steps around now. */
export const wrongCodeOf = (harness: Harness, secret: string): string => {
  const validCodes = new Set([-2, -1, 0, 1, 2].map((steps) => codeOf(harness, secret, steps)));
  return (
    ['000000', '000001', '000002', '000003', '000004', '000005'].find((code) => !validCodes.has(code)) ?? ''
  );
};

export const begin = ({ send }: Harness, { caller: as }: Person, password = PASSWORD): Promise<Answer> =>
  send('POST', '/auth/second-factor', { as, body: { current_password: password } });

export const arm = ({ send }: Harness, { caller: as }: Person, totp: string): Promise<Answer> =>
  send('POST', '/auth/second-factor', { as, body: { totp } });

export const disarm = (
  { send }: Harness,
  { caller: as }: Person,
  totp: string | undefined,
  password = PASSWORD,
): Promise<Answer> =>
  send('DELETE', '/auth/second-factor', { as, body: { current_password: password, totp } });

/** Sets up a second factor. The clock moves on, so that no code around now was used. */
export const setUp = async (harness: Harness, person: Person): Promise<Authenticator> => {
  const { secret } = (await begin(harness, person)).body;
  const answer = await arm(harness, person, codeOf(harness, secret));
  if (answer.status !== 200) throw new Error(`arming: ${answer.status} ${answer.text}`);
  harness.clock.advance(5 * TOTP_STEP_MS);
  return { secret, recoveryCodes: answer.body.recovery_codes };
};

export const logInWith = (
  { send }: Harness,
  { user }: Person,
  totp: unknown,
  password = PASSWORD,
): Promise<Answer> =>
  send('POST', '/auth/login', {
    body: { login: user.username, password, totp },
    headers: newAddress(),
  });
