/** All stores of identity. */
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { inTransaction, type TransactionOptions } from '@fitness/shared/mongo/transaction.ts';
import { type Codes, createCodes } from './codes.ts';
import { createNotifications, type Notifications } from './notifications.ts';
import { createOauthRecords, type OauthRecords } from './oauth.ts';
import { createReferralScores, type ReferralScores } from './referral-scores.ts';
import { createRoles, type Roles } from './roles.ts';
import { createSecondFactors, type SecondFactors } from './second-factors.ts';
import { createTokens, type Tokens } from './tokens.ts';
import { createUsers, type Users } from './users.ts';

export interface Store {
  users: Users;
  tokens: Tokens;
  secondFactors: SecondFactors;
  oauth: OauthRecords;
  roles: Roles;
  scores: ReferralScores;
  codes: Codes;
  notifications: Notifications;
  transaction<T>(work: (session: ClientSession) => Promise<T>, options?: TransactionOptions): Promise<T>;
}

export const createStore = (connection: Connection, log: Logger, resetTries?: number): Store => ({
  users: createUsers(connection),
  tokens: createTokens(connection),
  secondFactors: createSecondFactors(connection),
  oauth: createOauthRecords(connection),
  roles: createRoles(connection),
  scores: createReferralScores(connection),
  codes: createCodes(connection, resetTries),
  notifications: createNotifications(connection),
  transaction: (work, options) => inTransaction(connection, work, { log, ...options }),
});
