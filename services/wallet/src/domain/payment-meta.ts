/** What `meta` of a payment holds, as stored and as shown. Amounts are whole Tooman. */
import { z } from 'zod';

const vat = {
  vat_percent: z.number().optional().meta({ description: 'Present when a rate is in force' }),
  vat_amount: z.int().optional().meta({ description: 'The tax contained in what is charged, in Tooman' }),
};

const depositMetaSchema = z.object({
  amount: z.int(),
  gateway_fee: z.int().meta({ description: 'Paid on top of the amount; any VAT is inside it' }),
  payable_amount: z.int(),
  ...vat,
  track_id: z.string().optional().meta({ description: 'From here on: after verification' }),
  ref_number: z.string().nullable().optional(),
  card_number: z.string().nullable().optional().meta({ description: 'Masked' }),
  paid_at: z.string().optional().meta({ description: 'ISO 8601' }),
  charged_rial: z.int().optional(),
  resolution: z
    .object({
      outcome: z.enum(['credited', 'returned']),
      note: z.string().nullable(),
      resolved_by: z.int(),
      resolved_at: z.string(),
    })
    .meta({ id: 'DepositResolution' })
    .optional()
    .meta({ description: 'Of a dispute; for holders of payments.view_all' }),
});

const storePurchaseMetaSchema = z.object({ channel: z.string(), product_id: z.string(), ...vat });

const vatMetaSchema = z.object({ vat_percent: z.number(), vat_amount: z.int() });

const withdrawalMetaSchema = z.object({
  bank_account_number: z
    .string()
    .nullable()
    .optional()
    .meta({
      description:
        'Where it is paid to, as it was at the request. For the user and holders of payments.settle_withdrawals; ' +
        'null once the account is erased',
    }),
  reason: z.string().optional().meta({ description: 'Why it was rejected; absent without a reason' }),
  reference: z
    .string()
    .optional()
    .meta({ description: 'The bank’s number of the transfer; absent without one' }),
});

/**
 * In responses. One object and not a union: what tells the kinds apart is the `type` of the payment, which is outside of it,
 * and clients that are generated from a union without a discriminator require the fields of every kind.
 */
export const paymentMetaSchema = z
  .object({
    ...depositMetaSchema.shape,
    ...storePurchaseMetaSchema.shape,
    ...withdrawalMetaSchema.shape,
  })
  .partial()
  .meta({
    id: 'PaymentMeta',
    description:
      'By the `type` of the payment. `deposit`: `amount` to `charged_rial`, and `resolution`. `store_purchase`: `channel` ' +
      'and `product_id`. `withdrawal`: `bank_account_number`, `reason` and `reference`. All but withdrawals: the VAT, where a rate is in force.',
  });

export type DepositMeta = z.output<typeof depositMetaSchema>;
export type StorePurchaseMeta = z.output<typeof storePurchaseMetaSchema>;
export type VatMeta = z.output<typeof vatMetaSchema>;
export type WithdrawalMeta = z.output<typeof withdrawalMetaSchema>;
export type PaymentMeta = DepositMeta | StorePurchaseMeta | VatMeta | WithdrawalMeta;
