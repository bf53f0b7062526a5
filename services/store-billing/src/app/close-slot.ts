/** What happens when a user or a boosted resource is gone for good. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { boostSlot, premiumSlot, type Target } from '../domain/target.ts';
import { announceBoostEnded } from './announce.ts';
import type { BillingDeps } from './deps.ts';

type Parts = Pick<BillingDeps, 'store' | 'clock' | 'outbox' | 'idempotency'>;

/** In the transaction of `session`: a running subscription ends and none starts any more; receipts stay. */
export type ForgetUser = (session: ClientSession, userId: number) => Promise<void>;

export const createForgetUser =
  ({ store, clock, idempotency }: Parts): ForgetUser =>
  async (session, userId) => {
    const now = clock.now();
    const running = await store.slots.close(session, premiumSlot(userId), now);
    if (running !== null) await store.grants.end(session, 'premium', running, now);
    await idempotency.forgetUser(session, userId);
  };

/** In the transaction of `session`: a live boost ends and none starts any more. */
export type ForgetTarget = (session: ClientSession, target: Target) => Promise<void>;

export const createForgetTarget =
  (deps: Parts): ForgetTarget =>
  async (session, target) => {
    const { store, clock } = deps;
    const now = clock.now();
    const running = await store.slots.close(session, boostSlot(target), now);
    if (running === null) return;
    const ended = await store.grants.end(session, 'boost', running, now);
    if (ended?.grant.kind === 'boost') await announceBoostEnded(deps, session, ended.grant, ended.version);
  };
