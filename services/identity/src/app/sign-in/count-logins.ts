/** Counts the outcomes of sign-ins for the metrics. */
import { type AppError, isAppError } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { SignIn } from './sign-in.ts';

const outcomeOf = ({ kind, fields }: AppError): 'limited' | 'second_factor' | 'wrong' | undefined => {
  if (kind === 'rate_limited') return 'limited';
  if (fields?.totp !== undefined) return 'second_factor';
  return fields?.login === undefined ? undefined : 'wrong';
};

export const countLogins = (
  { consumeLimit, authenticate, signIn }: SignIn,
  { logins }: Dependencies,
): SignIn => {
  const countRefusal = async <T>(attempt: Promise<T>): Promise<T> => {
    try {
      return await attempt;
    } catch (error) {
      const outcome = isAppError(error) ? outcomeOf(error) : undefined;
      if (outcome !== undefined) logins.inc({ outcome });
      throw error;
    }
  };
  const count = async <T>(attempt: Promise<T>): Promise<T> => {
    const result = await countRefusal(attempt);
    logins.inc({ outcome: 'ok' });
    return result;
  };
  return {
    consumeLimit: (login, clientAddress) => countRefusal(consumeLimit(login, clientAddress)),
    authenticate: (credentials) => count(authenticate(credentials)),
    signIn: (credentials) => count(signIn(credentials)),
  };
};
