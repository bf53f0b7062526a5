/** All stores of identity. */
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { inTransaction, type TransactionOptions } from '@fitness/shared/mongo/transaction.ts';
import type { CredentialEpochs } from '../clients/credential-epochs.ts';
import { type Codes, createCodes, type ResetTries } from './codes.ts';
import { createDevices, type Devices } from './devices.ts';
import { createPreferencesStore, type PreferencesStore } from './notification-preferences.ts';
import { createNotifications, type Notifications } from './notifications.ts';
import { createOauthRecords, type OauthRecords } from './oauth.ts';
import { createReferralScores, type ReferralScores } from './referral-scores.ts';
import { createRevocations, type Revocations } from './revocations.ts';
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
  preferences: PreferencesStore;
  devices: Devices;
  revocations: Revocations;
  /** As after a revocation of `userId`: its first answer may have been lost with the process that made it. */
  repeatRevocation(userId: number): Promise<void>;
  transaction<T>(work: (session: ClientSession) => Promise<T>, options?: TransactionOptions): Promise<T>;
}

export const createStore = (
  connection: Connection,
  log: Logger,
  epochs: CredentialEpochs,
  resetTries?: ResetTries,
): Store => {
  const revocations = createRevocations(epochs);
  return {
    users: createUsers(connection, revocations),
    tokens: createTokens(connection, revocations),
    secondFactors: createSecondFactors(connection, revocations),
    oauth: createOauthRecords(connection, revocations),
    roles: createRoles(connection, revocations),
    scores: createReferralScores(connection),
    codes: createCodes(connection, resetTries),
    notifications: createNotifications(connection),
    preferences: createPreferencesStore(connection),
    devices: createDevices(connection),
    revocations,
    repeatRevocation: (userId) => epochs.advance([userId]),
    transaction: (work, options) => inTransaction(connection, work, { log, ...options }),
  };
};
