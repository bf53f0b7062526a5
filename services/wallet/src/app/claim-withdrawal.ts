/** An operator claims an open withdrawal before sending its money, so that no other operator sends it too. */
import type { AuditAction } from '@fitness/shared/audit/actions.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { alreadySettled } from '@fitness/shared/kernel/settled-once.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Claim, Payment } from '../domain/payment.ts';
import { claimRefusal, settledDecision, withdrawalFor } from './operators-withdrawal.ts';
import { type PaymentResource, shownOf, toPaymentResource } from './payment-resource.ts';

/** How long a claim lasts. Claiming again extends it. */
const CLAIMED_FOR_MS = 30 * MINUTE_MS;

/** Throws 404 and 403 like the settlement, and 409 for one that is settled or claimed by another operator. */
export const createClaimWithdrawal =
  (dependencies: Dependencies) =>
  async (id: number, takeOver: boolean, caller: UserCaller): Promise<PaymentResource> => {
    const { store, clock, users } = dependencies;
    const withdrawal = await withdrawalFor(dependencies, id, caller);
    const { userId } = withdrawal;
    const user = (await users.find([userId], caller, { withErased: true })).get(userId);
    const claimed = await store.transaction(async (session) => {
      const current = (await store.payments.find(id, session)) ?? withdrawal;
      const made = settledDecision(shownOf(current, user));
      const now = clock.now();
      const refusal =
        made === undefined
          ? claimRefusal(current, { operatorId: caller.userId, takeOver }, now)
          : alreadySettled(made);
      if (refusal !== undefined) throw refusal;
      const claim = { by: caller.userId, until: new Date(now.getTime() + CLAIMED_FOR_MS) };
      return change(dependencies, session, {
        withdrawal: current,
        claim,
        action: 'withdrawal.claim',
        caller,
      });
    });
    return toPaymentResource(claimed, caller, user, await store.wallets.balance(userId));
  };

/** Throws like the claim. Does nothing if nobody has claimed it. */
export const createReleaseWithdrawal =
  (dependencies: Dependencies) =>
  async (id: number, caller: UserCaller): Promise<void> => {
    const { store, clock } = dependencies;
    const withdrawal = await withdrawalFor(dependencies, id, caller);
    await store.transaction(async (session) => {
      const current = (await store.payments.find(id, session)) ?? withdrawal;
      const refusal = claimRefusal(current, { operatorId: caller.userId, takeOver: false }, clock.now());
      if (refusal !== undefined) throw refusal;
      if (current.claim === null) return;
      const action = 'withdrawal.release';
      await change(dependencies, session, { withdrawal: current, claim: null, action, caller });
    });
  };

const change = async (
  { store, audit }: Dependencies,
  session: ClientSession,
  {
    withdrawal,
    claim,
    action,
    caller,
  }: { withdrawal: Payment; claim: Claim | null; action: AuditAction; caller: UserCaller },
): Promise<Payment> => {
  const after = await store.payments.claimWithdrawal(session, withdrawal.id, claim);
  if (after === undefined) throw new Error(`Withdrawal ${withdrawal.id} was settled in the same transaction`);
  const stateOf = (current: Claim | null) => ({
    personId: null,
    values: { 'claim.by': current?.by ?? null, 'claim.until': current?.until ?? null },
  });
  await audit.record(session, {
    actorId: caller.userId,
    action,
    subject: { type: 'payment', id: withdrawal.id },
    before: stateOf(withdrawal.claim),
    after: stateOf(claim),
    isPersonal: store.payments.isPersonal,
  });
  return after;
};
