/** Tells what happened to a grant, in the transaction in which it happened. */
import { boostEnded, boostGranted, subscriptionStarted } from '@fitness/proto/events/store-billing.ts';
import { formatTimestamp } from '@fitness/shared/clock.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Boost, Grant } from '../domain/grant.ts';
import type { BillingDeps } from './deps.ts';

type Parts = Pick<BillingDeps, 'outbox'>;

const boostData = (boost: Boost) => ({
  boost_id: boost.id,
  boostable_type: boost.target.type,
  boostable_id: boost.target.id,
  level: boost.level,
  starts_at: formatTimestamp(boost.startsAt),
  ends_at: formatTimestamp(boost.endsAt),
});

/** Subjects carry what they are: a subscription and a boost of one number are two aggregates. */
const boostSubject = (id: number): string => `boost-${id}`;

export const announceGrant = async (
  { outbox }: Parts,
  session: ClientSession,
  grant: Grant,
): Promise<void> => {
  if (grant.kind === 'boost') {
    const event = { subject: boostSubject(grant.id), data: boostData(grant), aggregateVersion: 1 };
    await outbox.emit(session, boostGranted, event);
    return;
  }
  const data = {
    subscription_id: grant.id,
    user_id: grant.userId,
    type: grant.type,
    starts_at: formatTimestamp(grant.startsAt),
    expires_at: formatTimestamp(grant.expiresAt),
  };
  const event = { subject: `subscription-${grant.id}`, data, aggregateVersion: 1 };
  await outbox.emit(session, subscriptionStarted, event);
};

export const announceBoostEnded = async (
  { outbox }: Parts,
  session: ClientSession,
  boost: Boost,
  version: number,
): Promise<void> => {
  const event = { subject: boostSubject(boost.id), data: boostData(boost), aggregateVersion: version };
  await outbox.emit(session, boostEnded, event);
};
