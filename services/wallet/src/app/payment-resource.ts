/** The payment in responses (specification 2.3, 2.4). */

import { PAYMENT_TYPES } from '@fitness/contracts/payment-types.ts';
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { isErased, type UserResource, userSchema } from '@fitness/contracts/user.ts';
import { type Caller, can, isOwn, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/kernel/clock.ts';
import { missingPermission } from '@fitness/shared/kernel/missing-permission.ts';
import { z } from 'zod';
import type { Dependencies } from '../dependencies.ts';
import {
  type DisputeResolution,
  type Payment,
  withdrawalMetaOf,
  withoutPersonalData,
} from '../domain/payment.ts';
import { paymentMetaSchema, type ShownMeta } from '../domain/payment-meta.ts';

export const paymentSchema = z
  .object({
    id: z.int(),
    user_id: z.int().meta({ description: 'Id of the user that the payment belongs to' }),
    user: userSchema
      .nullable()
      .meta({ description: 'The user that the payment belongs to; an erased account has no names' }),
    type: z.enum(PAYMENT_TYPES).meta({
      description:
        'Kind of payment. A `store_purchase` was paid through an app store and never affects the balance.',
    }),
    amount: z
      .int()
      .meta({ description: 'Amount in Tooman, never negative: the `type` determines its direction' }),
    description: z.string().nullable().meta({
      description:
        'Text that describes the payment. A verified deposit has the gateway’s reference code on a separate line.',
    }),
    payable_type: z.string().nullable().meta({
      description: 'Model name of what was paid for, e.g. `App\\Models\\TrainingServices\\TrainingService`',
    }),
    payable_id: z.int().nullable().meta({ description: 'Id of what was paid for' }),
    meta: paymentMetaSchema
      .nullable()
      .meta({ description: 'Details that depend on the type of payment; null if there are none' }),
    is_done: z.boolean().meta({
      description:
        'Whether the payment is complete. On a withdrawal: whether the bank transfer was made, which does not affect the ' +
        'balance.',
    }),
    rejected_at: timestampSchema.nullable().meta({
      description: 'When an operator rejected the withdrawal; null for all other payments',
    }),
    created_at: timestampSchema,
    user_balance: z.int().optional().meta({
      description:
        'Spendable balance of the user, in Tooman. Present only on withdrawals, for holders of `payments.view_all`.',
    }),
  })
  .meta({
    id: 'Payment',
    description: 'A payment: a change of a wallet, or a purchase that an app store settled',
  });

export type PaymentResource = z.output<typeof paymentSchema>;

/**
 * The payment as it may be shown. The personal data of an erased account is removed in steps, and hidden until then. `user` is
 * undefined when identity does not know the user.
 */
export const shownOf = (payment: Payment, user: UserResource | null | undefined): Payment =>
  user != null && isErased(user) ? withoutPersonalData(payment) : payment;

/** `user` is what `viewer` may see of the user. `balance` is their spendable balance, shown only as `user_balance`. */
export const toPaymentResource = (
  stored: Payment,
  viewer: Caller,
  user: UserResource | undefined,
  balance: number | undefined,
): PaymentResource => toResource(shownOf(stored, user), viewer, user, balance);

const toResource = (
  payment: Payment,
  viewer: Caller,
  user: UserResource | undefined,
  balance: number | undefined,
): PaymentResource => ({
  id: payment.id,
  user_id: payment.userId,
  user: user ?? null,
  type: payment.type,
  amount: payment.amount,
  description: payment.description,
  payable_type: payment.payableType,
  payable_id: payment.payableId,
  meta: shownMeta(payment, viewer),
  is_done: payment.isDone,
  rejected_at: formatTimestampOrNull(payment.rejectedAt),
  created_at: formatTimestamp(payment.createdAt),
  ...(seesBalanceOf(viewer, payment) && balance !== undefined ? { user_balance: balance } : {}),
});

const toResolution = ({ outcome, note, resolvedBy, resolvedAt }: DisputeResolution) => ({
  outcome,
  note,
  resolved_by: resolvedBy,
  resolved_at: formatTimestamp(resolvedAt),
});

/**
 * Only operators see the resolution of a dispute. The user of a withdrawal and operators who settle it see its bank account.
 * Restricted and OAuth tokens do not: the permission to read payments does not cover the profile.
 */
const shownMeta = (payment: Payment, viewer: Caller): ShownMeta | null => {
  const resolution = payment.gateway?.resolution ?? null;
  if (resolution !== null && can(viewer, 'payments.view_all'))
    return { ...payment.meta, resolution: toResolution(resolution) };
  const withdrawal = withdrawalMetaOf(payment);
  if (withdrawal === undefined) return payment.meta;
  if (can(viewer, 'payments.settle_withdrawals')) {
    const { claim } = payment;
    if (claim === null) return withdrawal;
    return { ...withdrawal, claimed_by: claim.by, claimed_until: formatTimestamp(claim.until) };
  }
  if (isOwn(viewer, payment.userId)) return withdrawal;
  const { bank_account_number: _hidden, ...shown } = withdrawal;
  return shown;
};

const seesBalanceOf = (viewer: Caller, payment: Payment): boolean =>
  payment.type === 'withdrawal' && can(viewer, 'payments.view_all');

/** Throws 403 unless `caller` may see the payments and the balance of user `userId`. */
export const assertMaySee = (caller: UserCaller, userId: number): void => {
  const isOwner = caller.userId === userId;
  if (can(caller, 'payments.view_all') || (isOwner && can(caller, 'payments.view_own'))) return;
  const permissions = [...(isOwner ? (['payments.view_own'] as const) : []), 'payments.view_all'] as const;
  throw missingPermission(caller, { permissions });
};

type Sources = Pick<Dependencies, 'users' | 'store'>;

/** Makes one call for the users of all payments, and at most one query for their balances. */
const createPresenter = async (
  { users, store }: Sources,
  payments: readonly Payment[],
  viewer: Caller,
): Promise<(payment: Payment) => PaymentResource> => {
  const usersById = await users.find(
    payments.map(({ userId }) => userId),
    viewer,
    { withErased: true },
  );
  const shown = payments.filter((payment) => seesBalanceOf(viewer, payment)).map(({ userId }) => userId);
  const balances = shown.length === 0 ? new Map<number, number>() : await store.wallets.balances(shown);
  return (payment) =>
    toPaymentResource(payment, viewer, usersById.get(payment.userId), balances.get(payment.userId));
};

export const presentPayments = async (
  sources: Sources,
  payments: readonly Payment[],
  viewer: Caller,
): Promise<PaymentResource[]> => payments.map(await createPresenter(sources, payments, viewer));

export const presentPayment = async (
  sources: Sources,
  payment: Payment,
  viewer: Caller,
): Promise<PaymentResource> => (await createPresenter(sources, [payment], viewer))(payment);
