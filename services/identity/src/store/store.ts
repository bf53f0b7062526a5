/** All stores of identity. */
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { oneStep, TooManyRows } from '@fitness/shared/mongo/steps.ts';
import { inTransaction, type TransactionOptions } from '@fitness/shared/mongo/transaction.ts';
import type { CredentialEpochs } from '../clients/credential-epochs.ts';
import { type Codes, createCodes, type ResetTries } from './codes.ts';
import { createDevices, type Devices } from './devices.ts';
import { createPreferencesStore, type PreferencesStore } from './notification-preferences.ts';
import { createNotifications, type Notifications } from './notifications.ts';
import { createOauthRecords, type OauthRecords } from './oauth.ts';
import { createReferralScores, type ReferralScores } from './referral-scores.ts';
import { createEndRestoredCredentials, type EndRestoredCredentials } from './restored-credentials.ts';
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
  endRestoredCredentials: EndRestoredCredentials;
  /** Notifies gateways as a revocation of `userId` does, which may have crashed before it did. */
  repeatRevocation(userId: number): Promise<void>;
  /**
   * Runs `work` in one transaction. If it revokes more credentials than one transaction may delete, they are deleted in
   * steps and `work` runs again. If it fails then, some are revoked, and the error is `outcome_unknown` instead of
   * `unavailable`.
   */
  transaction<T>(work: (session: ClientSession) => Promise<T>, options?: TransactionOptions): Promise<T>;
}

/** New credentials may be issued between rounds, but far fewer than a transaction may delete. */
const MAX_ROUNDS = 3;

export const createStore = (
  connection: Connection,
  log: Logger,
  epochs: CredentialEpochs,
  resetTries?: ResetTries,
): Store => {
  const revocations = createRevocations(epochs);
  const transaction: Store['transaction'] = async (work, options) => {
    for (let round = 1; ; round += 1) {
      try {
        return await inTransaction(connection, work, { log, ...options });
      } catch (error) {
        if (!(error instanceof TooManyRows) || round >= MAX_ROUNDS) throw error;
        const step = (session: ClientSession) => oneStep((limit) => error.part(session, limit));
        while ((await inTransaction(connection, step, { log })) === 'more');
      }
    }
  };
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
    endRestoredCredentials: createEndRestoredCredentials(connection, revocations),
    repeatRevocation: (userId) => epochs.advance([userId]),
    transaction,
  };
};
