/** All stores of identity. */
import type { Connection } from '@fitness/shared/mongo/connect.ts';
import { createCodeStore } from './codes.ts';
import { createNotificationStore } from './notifications.ts';
import { createOauthStore } from './oauth.ts';
import { createReferralScoreStore } from './referral-scores.ts';
import { createRoleStore } from './roles.ts';
import { createTokenStore } from './tokens.ts';
import { createUserStore } from './users.ts';

export const createStore = (connection: Connection) => ({
  users: createUserStore(connection),
  tokens: createTokenStore(connection),
  oauth: createOauthStore(connection),
  roles: createRoleStore(connection),
  scores: createReferralScoreStore(connection),
  codes: createCodeStore(connection),
  notifications: createNotificationStore(connection),
});

export type Store = ReturnType<typeof createStore>;
