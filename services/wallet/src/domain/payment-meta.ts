/** The `meta` of a payment, as stored and as shown. Amounts are whole Tooman. */
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { z } from 'zod';

const vat = {
  vat_percent: z
    .number()
    .optional()
    .meta({ description: 'VAT rate in percent; present if a rate was in force' }),
  vat_amount: z.int().optional().meta({ description: 'VAT contained in what was charged, in Tooman' }),
};

const depositMetaSchema = z.object({
  amount: z.int().meta({ description: 'Amount to credit, in Tooman; equals the payment’s `amount`' }),
  gateway_fee: z
    .int()
    .meta({ description: 'Fee that the payer pays on top of `amount`, in Tooman, including any VAT' }),
  payable_amount: z
    .int()
    .meta({ description: 'Amount charged at the gateway, in Tooman: `amount` plus `gateway_fee`' }),
  ...vat,
  track_id: z
    .string()
    .optional()
    .meta({ description: 'The gateway’s id of the payment; present after verification' }),
  ref_number: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'The gateway’s reference code; present after verification' }),
  card_number: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'Masked card number; present after verification' }),
  paid_at: z
    .string()
    .optional()
    .meta({ description: 'Time of the payment, ISO 8601 in UTC; present after verification' }),
  charged_rial: z
    .int()
    .optional()
    .meta({ description: 'Amount that the gateway reports, in Rial; present after verification' }),
  resolution: z
    .object({
      outcome: z
        .enum(['credited', 'returned'])
        .meta({ description: 'Whether the amount was credited to the wallet or returned to the payer' }),
      note: z
        .string()
        .nullable()
        .meta({ description: 'The operator’s reason; null once the account is erased' }),
      resolved_by: z.int().meta({ description: 'User id of the operator' }),
      resolved_at: timestampSchema.meta({ description: 'When the operator resolved the deposit' }),
    })
    .meta({ id: 'DepositResolution' })
    .optional()
    .meta({
      description: 'How a dispute was resolved. Present only for holders of `payments.view_all`.',
    }),
});

const storePurchaseMetaSchema = z.object({
  channel: z.string().meta({ description: 'App store that settled the purchase' }),
  product_id: z.string().meta({ description: 'SKU that was bought' }),
  ...vat,
});

const vatMetaSchema = z.object({ vat_percent: z.number(), vat_amount: z.int() });

const withdrawalMetaSchema = z.object({
  bank_account_number: z
    .string()
    .nullable()
    .optional()
    .meta({
      description:
        'Bank account that the withdrawal is paid to, as it was when the withdrawal was requested. Present only for the ' +
        'user and holders of `payments.settle_withdrawals`; null once the account is erased.',
    }),
  reason: z.string().optional().meta({ description: 'Reason for the rejection, if the operator gave one' }),
  reference: z
    .string()
    .optional()
    .meta({ description: 'The bank’s reference number of the transfer, if the operator gave one' }),
});

/** Not stored in `meta`. */
const claimMetaSchema = z.object({
  claimed_by: z
    .int()
    .optional()
    .meta({
      description:
        'User id of the operator who has claimed the withdrawal. Present only for holders of ' +
        '`payments.settle_withdrawals`, even after the claim has ended.',
    }),
  claimed_until: timestampSchema.optional().meta({ description: 'When the claim of the operator ends' }),
});

/**
 * The shape in responses. It is not a union, because the discriminator (the payment's `type`) is outside of it. Clients
 * generated from a union without a discriminator require the fields of every kind.
 */
export const paymentMetaSchema = z
  .object({
    ...depositMetaSchema.shape,
    ...storePurchaseMetaSchema.shape,
    ...withdrawalMetaSchema.shape,
    ...claimMetaSchema.shape,
  })
  .partial()
  .meta({
    id: 'PaymentMeta',
    description:
      'Details of the payment. Its `type` determines the fields:\n\n' +
      '- `deposit`: `amount`, `gateway_fee`, `payable_amount`, `track_id`, `ref_number`, `card_number`, `paid_at`, ' +
      '`charged_rial`, `resolution`.\n' +
      '- `store_purchase`: `channel`, `product_id`.\n' +
      '- `withdrawal`: `bank_account_number`, `reason`, `reference`, `claimed_by`, `claimed_until`.\n\n' +
      'All but withdrawals have `vat_percent` and `vat_amount` if VAT is contained in what was charged.',
  });

export type DepositMeta = z.output<typeof depositMetaSchema>;
export type StorePurchaseMeta = z.output<typeof storePurchaseMetaSchema>;
export type VatMeta = z.output<typeof vatMetaSchema>;
export type WithdrawalMeta = z.output<typeof withdrawalMetaSchema>;
export type PaymentMeta = DepositMeta | StorePurchaseMeta | VatMeta | WithdrawalMeta;
export type ShownMeta = z.output<typeof paymentMetaSchema>;
