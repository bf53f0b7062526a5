/**
 * An operator closes a disputed deposit once, as credited or as returned to the payer. What an erased account was credited is closed the
 * same way, but only as returned. The operator may repeat the request; anybody else is refused, and the refusal is in the audit log.
 */
import { isErased as isErasedUser } from '@fitness/contracts/user.ts';
import type { AuditState } from '@fitness/shared/audit/log.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type AppError, conflict, message, notFound } from '@fitness/shared/kernel/error.ts';
import { alreadySettled, decisionMark, isRepeatOf } from '@fitness/shared/kernel/settled-once.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { returnedRows } from '../domain/booking.ts';
import { verifiedFields } from '../domain/deposit.ts';
import { createEntry } from '../domain/ledger.ts';
import {
  type DisputeOutcome,
  type DisputeResolution,
  isHeldCredit,
  type Payment,
} from '../domain/payment.ts';
import { heldKey } from './hold-credits.ts';
import { type PaymentResource, shownOf, toPaymentResource } from './payment-resource.ts';
import { publishDepositReturned, publishPaymentBooked } from './publish.ts';
import { depositEntry } from './settle-deposit.ts';

interface Resolution {
  outcome: DisputeOutcome;
  note: string;
}

/**
 * Throws 404 for a payment that can never be disputed. Throws 409 for one that is not disputed, or was closed otherwise, and for
 * `credited` once the account is erased.
 */
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
    if (deposit === undefined || deposit.gateway === null) throw notFound();
    // Fetched before the resolution: if identity does not respond, nothing has changed.
    const usersById = await users.find([deposit.userId], caller, { withErased: true });
    const payer = usersById.get(deposit.userId);
    const decision = { operatorId: caller.userId, outcome, text: note, key: undefined };
    const mark = decisionMark(digest, `payment ${id}`, decision);
    const { payment, refusal } = await store.transaction(async (session) => {
      const current = (await store.payments.find(id, session)) ?? deposit;
      const wallet = await store.wallets.find(session, current.userId);
      // The event of the erasure may not have arrived yet.
      const isErased = wallet?.erased === true || (payer !== undefined && isErasedUser(payer));
      const shown = shownOf(current, payer);
      const refused = refusalOf(shown, mark) ?? erasedRefusal(current, outcome, isErased);
      if (refused !== undefined) {
        await recordRefusal(dependencies, session, {
          deposit: current,
          note,
          mark,
          caller,
          refusal: refused,
        });
        return { payment: current, refusal: refused };
      }
      if (current.gateway?.state !== 'mismatch') return { payment: current };
      const resolution = { outcome, note, resolvedBy: caller.userId, resolvedAt: clock.now(), mark };
      return { payment: await resolve(dependencies, session, current, resolution, isErased) };
    });
    if (refusal !== undefined) throw refusal;
    return toPaymentResource(payment, caller, payer, undefined);
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

/** The balance of an erased account would be of no use to anybody. */
const erasedRefusal = (
  { gateway }: Payment,
  outcome: DisputeOutcome,
  isErased: boolean,
): AppError | undefined =>
  isErased && outcome === 'credited' && gateway?.state === 'mismatch'
    ? conflict('payments.payer_erased', message('payments.payer_erased'))
    : undefined;

const recordRefusal = async (
  { store, audit }: Dependencies,
  session: ClientSession,
  refused: { deposit: Payment; note: string; mark: string | null; caller: UserCaller; refusal: AppError },
): Promise<void> => {
  const { deposit, note, mark, caller, refusal } = refused;
  const { personId, values } = stateOf(deposit);
  const entered = { 'refused.code': refusal.code, 'refused.note': note, 'refused.mark': mark };
  await audit.record(session, {
    actorId: caller.userId,
    action: 'deposit.resolve_refused',
    subject: { type: 'payment', id: deposit.id },
    before: { personId, values: {} },
    after: { personId, values: { ...values, ...entered } },
    isPersonal: (path) => path === 'refused.note' || store.payments.isPersonal(path),
  });
};

const resolve = async (
  dependencies: Dependencies,
  session: ClientSession,
  deposit: Payment,
  decision: DisputeResolution,
  isErased: boolean,
): Promise<Payment> => {
  const { store, audit } = dependencies;
  // The note may name the payer, and nothing about an erased person is stored (docs/erasure.md). The mark stays: an operator who has the
  // note can prove it.
  const resolution = isErased ? { ...decision, note: null } : decision;
  const after =
    resolution.outcome === 'credited'
      ? await credit(dependencies, session, deposit, resolution)
      : await giveBack(dependencies, session, deposit, resolution);
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
): Promise<Payment> => {
  const reported = deposit.gateway?.reported;
  if (reported == null) throw new Error(`The disputed deposit ${deposit.id} has no receipt`);
  const credited = verifiedFields(deposit, reported, resolution.resolvedAt);
  const resolved = assertResolved(
    await store.payments.resolveDispute(session, deposit.id, { resolution, credited }),
  );
  await store.post(session, depositEntry(deposit));
  await publishPaymentBooked({ outbox }, session, resolved);
  return resolved;
};

/** The operator has returned the money at the gateway. Only a held credit was booked before, and leaves the ledger now. */
const giveBack = async (
  { store, outbox }: Pick<Dependencies, 'store' | 'outbox'>,
  session: ClientSession,
  deposit: Payment,
  resolution: DisputeResolution,
): Promise<Payment> => {
  const { id } = deposit;
  if (isHeldCredit(deposit)) await postReturn({ store }, session, id);
  const returned = assertResolved(
    await store.payments.resolveDispute(session, id, { resolution, credited: null }),
  );
  await publishDepositReturned({ outbox }, session, returned);
  return returned;
};

const postReturn = async (
  { store }: Pick<Dependencies, 'store'>,
  session: ClientSession,
  id: number,
): Promise<void> => {
  const held = await store.entries.find(heldKey(id), session);
  const amount = held?.rows.find(({ account }) => account === 'erased_credits')?.amount;
  if (amount === undefined) throw new Error(`The credit ${id} of an erased account is not held`);
  const rows = returnedRows(amount);
  await store.post(session, createEntry({ key: `returned:${id}`, kind: 'returned', rows, paymentIds: [id] }));
};

/** The transaction has already read the state, so a concurrent change conflicts and never gets here. */
const assertResolved = (deposit: Payment | undefined): Payment => {
  if (deposit === undefined) throw new Error('A disputed deposit was changed in the same transaction');
  return deposit;
};
