/**
 * An operator closes a disputed deposit once, as credited or as returned to the payer. The operator may repeat the request; anybody else
 * is refused, and the refusal is in the audit log.
 */
import type { AuditState } from '@fitness/shared/audit/log.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type AppError, conflict, message, notFound } from '@fitness/shared/kernel/error.ts';
import { alreadySettled, decisionMark, isRepeatOf } from '@fitness/shared/kernel/settled-once.ts';
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

/** Throws 404 for a payment that is not a deposit. Throws 409 for one that is not disputed, or was closed otherwise. */
export type ResolveDeposit = (
  id: number,
  resolution: Resolution,
  caller: UserCaller,
) => Promise<PaymentResource>;

export const createResolveDeposit =
  (dependencies: Dependencies): ResolveDeposit =>
  async (id, { outcome, note }, caller) => {
    const { store, clock, users, digest } = dependencies;
    const deposit = await store.payments.find(id);
    if (deposit?.type !== 'deposit') throw notFound();
    // Fetched before the resolution: if identity does not respond, nothing has changed.
    const usersById = await users.find([deposit.userId], caller, { withErased: true });
    const decision = { operatorId: caller.userId, outcome, text: note, key: undefined };
    const mark = decisionMark(digest, `payment ${id}`, decision);
    const { payment, refusal } = await store.transaction(async (session) => {
      const current = (await store.payments.find(id, session)) ?? deposit;
      const refused = refusalOf(current, mark);
      if (refused !== undefined) {
        await recordRefusal(dependencies, session, { deposit: current, note, caller, refusal: refused });
        return { payment: current, refusal: refused };
      }
      if (current.gateway?.state !== 'mismatch') return { payment: current };
      const resolution = { outcome, note, resolvedBy: caller.userId, resolvedAt: clock.now(), mark };
      return { payment: await resolve(dependencies, session, current, resolution) };
    });
    if (refusal !== undefined) throw refusal;
    return toPaymentResource(payment, caller, usersById.get(deposit.userId), undefined);
  };

/** Undefined for a dispute that is open, or was closed by the same decision. */
const refusalOf = ({ gateway }: Payment, mark: string | null): AppError | undefined => {
  if (gateway?.state === 'mismatch') return undefined;
  const resolution = gateway?.resolution ?? null;
  if (resolution === null) return conflict('payments.not_disputed', message('payments.not_disputed'));
  const { outcome, note, resolvedBy, resolvedAt } = resolution;
  const made = { outcome, operatorId: resolvedBy, at: resolvedAt, mark: resolution.mark, text: { note } };
  return isRepeatOf(made, mark) ? undefined : alreadySettled(made);
};

const recordRefusal = async (
  { store, audit }: Dependencies,
  session: ClientSession,
  refused: { deposit: Payment; note: string; caller: UserCaller; refusal: AppError },
): Promise<void> => {
  const { deposit, note, caller, refusal } = refused;
  const { personId, values } = stateOf(deposit);
  await audit.record(session, {
    actorId: caller.userId,
    action: 'deposit.resolve_refused',
    subject: { type: 'payment', id: deposit.id },
    before: { personId, values: {} },
    after: { personId, values: { ...values, 'refused.code': refusal.code, 'refused.note': note } },
    isPersonal: (path) => path === 'refused.note' || store.payments.isPersonal(path),
  });
};

const resolve = async (
  dependencies: Dependencies,
  session: ClientSession,
  deposit: Payment,
  decision: DisputeResolution,
): Promise<Payment> => {
  const { store, audit } = dependencies;
  const isErased = (await store.wallets.find(session, deposit.userId))?.erased === true;
  const resolution = isErased ? { ...decision, note: null } : decision;
  const after =
    resolution.outcome === 'credited'
      ? await credit(dependencies, session, deposit, resolution, isErased)
      : await giveBack(dependencies, session, deposit.id, resolution);
  await audit.record(session, {
    actorId: resolution.resolvedBy,
    action: 'deposit.resolve',
    subject: { type: 'payment', id: deposit.id },
    before: stateOf(deposit),
    after: stateOf(after),
    isPersonal: store.payments.isPersonal,
  });
  return after;
};

/** The audited values, named like the stored fields. */
const stateOf = ({ userId, amount, isDone, gateway }: Payment): AuditState & { personId: number } => ({
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
