/** An operator closes a disputed deposit once, as credited or as returned to the payer. A repeat changes nothing. */
import type { AuditState } from '@fitness/shared/audit/log.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { conflict, message, notFound } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { verifiedFields } from '../domain/deposit.ts';
import type { DisputeOutcome, DisputeResolution, Payment } from '../domain/payment.ts';
import { type PaymentResource, toPaymentResource } from './payment-resource.ts';
import { publishDepositReturned, publishPaymentBooked } from './publish.ts';
import { depositEntry } from './settle-deposit.ts';

interface Resolution {
  outcome: DisputeOutcome;
  note: string;
}

/** Throws 404 for a payment that is not a deposit. Throws 409 for one that is not disputed, or has the other outcome. */
export type ResolveDeposit = (
  id: number,
  resolution: Resolution,
  caller: UserCaller,
) => Promise<PaymentResource>;

export const createResolveDeposit =
  (dependencies: Pick<Dependencies, 'store' | 'outbox' | 'clock' | 'users' | 'audit'>): ResolveDeposit =>
  async (id, { outcome, note }, caller) => {
    const { store, clock, users, audit } = dependencies;
    const deposit = await store.payments.find(id);
    if (deposit?.type !== 'deposit') throw notFound();
    const isUnresolved = deposit.gateway?.state === 'mismatch';
    if (!isUnresolved) assertResolvedAs(deposit, outcome);
    // Fetched before the resolution: if identity does not respond, nothing has changed.
    const usersById = await users.find([deposit.userId], caller, { withErased: true });
    const resolve = async (session: ClientSession): Promise<Payment> => {
      const isErased = (await store.wallets.find(session, deposit.userId))?.erased === true;
      const current = (await store.payments.find(id, session)) ?? deposit;
      if (current.gateway?.state !== 'mismatch') {
        assertResolvedAs(current, outcome);
        return current;
      }
      const resolution = {
        outcome,
        note: isErased ? null : note,
        resolvedBy: caller.userId,
        resolvedAt: clock.now(),
      };
      const after =
        outcome === 'credited'
          ? await credit(dependencies, session, current, resolution, isErased)
          : await giveBack(dependencies, session, id, resolution);
      await audit.record(session, {
        actorId: caller.userId,
        action: 'deposit.resolve',
        subject: { type: 'payment', id },
        before: stateOf(current),
        after: stateOf(after),
        isPersonal: store.payments.isPersonal,
      });
      return after;
    };
    const resolved = isUnresolved ? await store.transaction(resolve) : deposit;
    return toPaymentResource(resolved, caller, usersById.get(deposit.userId), undefined);
  };

/** The audited values, named like the stored fields. */
const stateOf = ({ userId, amount, isDone, gateway }: Payment): AuditState => ({
  personId: userId,
  values: {
    user_id: userId,
    amount,
    is_done: isDone,
    'gateway.state': gateway?.state ?? null,
    'gateway.resolution.outcome': gateway?.resolution?.outcome ?? null,
    'gateway.resolution.note': gateway?.resolution?.note ?? null,
  },
});

/**
 * Books the requested amount, whatever the gateway took. If it took another amount, the operator returns that instead
 * (docs/adr/0039).
 */
const credit = async (
  { store, outbox }: Pick<Dependencies, 'store' | 'outbox'>,
  session: ClientSession,
  deposit: Payment,
  resolution: DisputeResolution,
  erased: boolean,
): Promise<Payment> => {
  const reported = deposit.gateway?.reported;
  if (reported == null) throw new Error(`The disputed deposit ${deposit.id} has no receipt`);
  const credited = verifiedFields(deposit, reported, { now: resolution.resolvedAt, erased });
  const resolved = assertResolved(
    await store.payments.resolveDispute(session, deposit.id, { resolution, credited }),
  );
  await store.post(session, depositEntry(deposit));
  await publishPaymentBooked({ outbox }, session, resolved);
  return resolved;
};

/** Books nothing: the operator has returned the money at the gateway. */
const giveBack = async (
  { store, outbox }: Pick<Dependencies, 'store' | 'outbox'>,
  session: ClientSession,
  id: number,
  resolution: DisputeResolution,
): Promise<Payment> => {
  const returned = assertResolved(
    await store.payments.resolveDispute(session, id, { resolution, credited: null }),
  );
  await publishDepositReturned({ outbox }, session, returned);
  return returned;
};

/** The transaction has already read the state, so a concurrent change conflicts and never gets here. */
const assertResolved = (deposit: Payment | undefined): Payment => {
  if (deposit === undefined) throw new Error('A disputed deposit was changed in the same transaction');
  return deposit;
};

const assertResolvedAs = (deposit: Payment, outcome: DisputeOutcome): void => {
  const resolution = deposit.gateway?.resolution ?? null;
  if (resolution === null) throw conflict('payments.not_disputed', message('payments.not_disputed'));
  if (resolution.outcome !== outcome)
    throw conflict('payments.already_resolved', message('payments.already_resolved'));
};
