import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { wellFormed, withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { UseCases } from '../use-cases.ts';
import { conflictSchema } from './schemas.ts';

const MAX_REASON = 2_000;
const MAX_REFERENCE = 255;
/** Excludes default-ignorable characters: some of them are letters, but invisible. */
const LETTER_OR_DIGIT = /[[\p{L}\p{N}]--\p{Default_Ignorable_Code_Point}]/v;
const BREAKS_THE_LINE = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

const isReference = (value: string): boolean =>
  value === '' || (LETTER_OR_DIGIT.test(value) && !BREAKS_THE_LINE.test(value));

const common = {
  method: 'POST',
  tag: 'Payments',
  pages: ['ops'],
  access: 'user',
  permissions: ['payments.settle_withdrawals'],
  params: idParams,
  responses: {
    200: z.object({ payment: paymentSchema }),
    409: conflictSchema,
  },
} as const;

/** POST /payments/:id/pay and /reject. */
export const settlementRoutes = ({ settleWithdrawal }: UseCases): Route[] => [
  defineRoute({
    ...common,
    path: '/payments/:id/pay',
    audits: ['withdrawal.pay'],
    summary: 'Mark a withdrawal as paid',
    description:
      'Records that the bank transfer of a withdrawal was made, and notifies its user. The balance stays the same, because ' +
      'the amount was deducted when the withdrawal was requested. Repeating the request returns the payment unchanged; a rejected ' +
      'withdrawal returns 409. Requires `payments.settle_withdrawals`.',
    body: z.object({
      reference: wellFormed(z.string().trim().max(MAX_REFERENCE))
        .refine(isReference, withMessage('validation.format'))
        .nullish()
        .meta({
          description: 'The bank’s reference number of the transfer, on one line; the user sees it in `meta`',
        }),
    }),
    handle: async ({ params, caller, body }) => {
      const settlement = { outcome: 'paid' as const, reference: body.reference || null };
      return ok({ payment: await settleWithdrawal(params.id, settlement, caller) });
    },
  }),
  defineRoute({
    ...common,
    path: '/payments/:id/reject',
    audits: ['withdrawal.reject'],
    summary: 'Reject a withdrawal',
    description:
      'Rejects a withdrawal, returns its amount to the spendable balance, and notifies its user. Repeating the request ' +
      'returns the payment unchanged; a paid withdrawal returns 409. Requires `payments.settle_withdrawals`.',
    body: z.object({
      reason: wellFormed(z.string().trim().max(MAX_REASON))
        .nullish()
        .meta({ description: 'Reason for the rejection; the user sees it in `meta`' }),
    }),
    handle: async ({ params, caller, body }) => {
      const settlement = { outcome: 'rejected' as const, reason: body.reason || null };
      return ok({ payment: await settleWithdrawal(params.id, settlement, caller) });
    },
  }),
];
