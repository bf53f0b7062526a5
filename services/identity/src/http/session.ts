/** The response to registering and to signing in. */
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { userSchema } from '@fitness/contracts/user.ts';
import type { RawRequest } from '@fitness/shared/http/define-route.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import type { PresentUser } from '../app/accounts/user-resource.ts';
import type { Session } from '../app/sign-in/new-session-token.ts';
import type { Client } from '../domain/client.ts';

export const sessionSchema = z
  .object({
    token: z.string().meta({ description: 'Token of the session, for `Authorization: Bearer …`' }),
    token_type: z.literal('Bearer').meta({ description: 'Scheme of the `Authorization` header' }),
    expires_at: timestampSchema.meta({ description: 'When the session ends' }),
    user: userSchema,
  })
  .meta({ id: 'SignedIn' });

/** The client of the request that starts a session. */
export const clientOf = ({ headers }: RawRequest, address: string): Client => ({
  address,
  userAgent: headers['user-agent'],
});

/** Shows all fields of the user, as in their later requests. */
export const toSession = async (
  { token, expiresAt, user }: Session,
  presentUser: PresentUser,
): Promise<z.output<typeof sessionSchema>> => {
  const viewer: UserCaller = {
    kind: 'user',
    userId: user._id,
    permissions: new Set(),
    tokenId: '',
    tokenKind: 'session',
  };
  return {
    token,
    token_type: 'Bearer',
    expires_at: formatTimestamp(expiresAt),
    user: await presentUser(user, viewer),
  };
};
