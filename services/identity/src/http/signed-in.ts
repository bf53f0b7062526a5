/** The answer of registering and of signing in. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { formatTimestamp } from '@fitness/shared/clock.ts';
import { userSchema } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import type { SignedIn } from '../app/session-tokens.ts';
import type { UserPresenter } from '../app/user-resource.ts';
import type { User } from '../domain/user.ts';

export const signedInSchema = z
  .object({
    token: z.string(),
    token_type: z.literal('Bearer'),
    expires_at: z.string(),
    user: userSchema,
  })
  .meta({ id: 'SignedIn' });

/** Who has just proved to be this user sees all of it. */
const asThemself = (user: User): UserCaller => ({
  kind: 'user',
  userId: user._id,
  permissions: new Set(),
  tokenId: '',
  tokenKind: 'session',
});

export const toSignedIn = async (
  { token, expiresAt, user }: SignedIn<User>,
  presenter: UserPresenter,
): Promise<z.output<typeof signedInSchema>> => ({
  token,
  token_type: 'Bearer',
  expires_at: formatTimestamp(expiresAt),
  user: await presenter.one(user, asThemself(user)),
});
