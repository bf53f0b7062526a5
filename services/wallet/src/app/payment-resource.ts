/** The payment as it leaves us (specification 2.3, 2.4). */
import { type Caller, can, type UserCaller } from '@fitness/shared/caller.ts';
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/clock.ts';
import { type UserResource, userSchema } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import { PAYMENT_TYPES, type Payment, type PaymentMeta } from '../domain/payment.ts';
import type { WalletDeps } from './deps.ts';

const vat = {
  vat_percent: z.number().optional().meta({ description: 'Present when a rate is in force' }),
  vat_amount: z.int().optional().meta({ description: 'The tax contained in what is charged, in Tooman' }),
};

const depositMetaSchema = z
  .object({
    amount: z.int(),
    gateway_fee: z.int().meta({ description: 'Paid on top of the amount; any VAT is inside it' }),
    payable_amount: z.int(),
    ...vat,
    track_id: z.string().optional().meta({ description: 'From here on: after verification' }),
    ref_number: z.string().nullable().optional(),
    card_number: z.string().nullable().optional().meta({ description: 'Masked' }),
    paid_at: z.string().optional().meta({ description: 'ISO 8601' }),
    charged_rial: z.int().optional(),
  })
  .meta({ id: 'DepositMeta' });

const storePurchaseMetaSchema = z
  .object({ channel: z.string(), product_id: z.string(), ...vat })
  .meta({ id: 'StorePurchaseMeta' });

const vatMetaSchema = z.object({ vat_percent: z.number(), vat_amount: z.int() }).meta({ id: 'VatMeta' });

export const paymentSchema = z
  .object({
    id: z.int(),
    user_id: z.int(),
    user: userSchema.nullable().meta({ description: 'Of an erased account: a user without names' }),
    type: z.enum(PAYMENT_TYPES),
    amount: z.int().meta({ description: 'Tooman' }),
    description: z.string().nullable(),
    payable_type: z.string().nullable(),
    payable_id: z.int().nullable(),
    meta: z.union([depositMetaSchema, storePurchaseMetaSchema, vatMetaSchema]).nullable(),
    is_done: z.boolean(),
    rejected_at: z.string().nullable(),
    created_at: z.string(),
    user_balance: z
      .int()
      .optional()
      .meta({ description: 'On withdrawals, for viewers with payments.view_all' }),
  })
  .meta({ id: 'Payment' });

export interface PaymentResource {
  id: number;
  user_id: number;
  user: UserResource | null;
  type: Payment['type'];
  amount: number;
  description: string | null;
  payable_type: string | null;
  payable_id: number | null;
  meta: PaymentMeta | null;
  is_done: boolean;
  rejected_at: string | null;
  created_at: string;
  user_balance?: number;
}

/** `user` as `viewer` may see him. `balance` is the user's live spendable balance; it is shown only where the specification says so. */
export const toResource = (
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
  meta: payment.meta,
  is_done: payment.isDone,
  rejected_at: formatTimestampOrNull(payment.rejectedAt),
  created_at: formatTimestamp(payment.createdAt),
  ...(seesBalanceOf(viewer, payment) && balance !== undefined ? { user_balance: balance } : {}),
});

const seesBalanceOf = (viewer: Caller, payment: Payment): boolean =>
  payment.type === 'withdrawal' && can(viewer, 'payments.view_all');

/** Whether `caller` may see the payments of user `userId`. */
export const maySee = (caller: UserCaller, userId: number): boolean =>
  can(caller, 'payments.view_all') || (caller.userId === userId && can(caller, 'payments.view_own'));

/** A page of payments as resources: one call for its users, one query for the balances among them. */
export const presentPayments = async (
  { users, store }: Pick<WalletDeps, 'users' | 'store'>,
  payments: readonly Payment[],
  viewer: Caller,
): Promise<PaymentResource[]> => {
  const known = await users.show(
    payments.map(({ userId }) => userId),
    viewer,
    { withErased: true },
  );
  const shown = payments.filter((payment) => seesBalanceOf(viewer, payment)).map(({ userId }) => userId);
  const balances = shown.length === 0 ? new Map<number, number>() : await store.wallets.balances(shown);
  return payments.map((payment) =>
    toResource(payment, viewer, known.get(payment.userId), balances.get(payment.userId)),
  );
};
