import { defineRoute, noContent, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { wellFormed, withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { UseCases } from '../use-cases.ts';
import { claimedSchema, settledSchema } from './schemas.ts';

const MAX_REASON = 2_000;
const MAX_REFERENCE = 255;
/** Excludes default-ignorable characters: some of them are letters, but invisible. */
const LETTER_OR_DIGIT = /[[\p{L}\p{N}]--\p{Default_Ignorable_Code_Point}]/v;
const BREAKS_THE_LINE = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

const isReference = (value: string): boolean =>
  value === '' || (LETTER_OR_DIGIT.test(value) && !BREAKS_THE_LINE.test(value));

const common = {
  tag: 'Payments',
  pages: ['ops'],
  access: 'user',
  permissions: ['payments.settle_withdrawals'],
  tokenKinds: SESSION_ONLY,
  params: idParams,
} as const;
const responses = { 200: z.object({ payment: paymentSchema }), 409: settledSchema };

const REFUSALS = ['payments.already_settled', 'payments.claimed'];

const takeOver = z
  .boolean()
  .nullish()
  .meta({ description: 'Whether to go on if another operator has claimed the withdrawal. Default: false' });

const RULES =
  'Repeating your request with the same text, or without a text but with the same `Idempotency-Key`, returns the payment ' +
  'as it is. Any other request for a settled withdrawal returns 409 with who settled it, and so does one for a withdrawal ' +
  'that another operator has claimed. Your own withdrawal returns 403. Requires `payments.settle_withdrawals` and a log-in ' +
  'session.';

/** POST /payments/:id/pay and /reject. */
export const settlementRoutes = ({ settleWithdrawal }: UseCases): Route[] => [
  defineRoute({
    ...common,
    method: 'POST',
    path: '/payments/:id/pay',
    idempotent: true,
    audits: ['withdrawal.pay', 'withdrawal.pay_refused'],
    summary: 'Mark a withdrawal as paid',
    description:
      'Records that the bank transfer of a withdrawal was made, and notifies its user. The balance stays the same, because ' +
      'the amount was deducted when the withdrawal was requested. A refused request with a reference is recorded in the ' +
      `audit log. ${RULES}`,
    body: z.object({
      reference: wellFormed(z.string().trim().max(MAX_REFERENCE))
        .refine(isReference, withMessage('validation.format'))
        .nullish()
        .meta({
          description: 'The bank’s reference number of the transfer, on one line; the user sees it in `meta`',
        }),
      take_over: takeOver,
    }),
    responses,
    errorCodes: { 409: REFUSALS },
    handle: async ({ params, caller, body, idempotencyKey: key }) => {
      const settlement = { outcome: 'paid' as const, text: body.reference || null };
      const options = { takeOver: body.take_over === true, key };
      return ok({ payment: await settleWithdrawal(params.id, { ...settlement, ...options }, caller) });
    },
  }),
  defineRoute({
    ...common,
    method: 'POST',
    path: '/payments/:id/reject',
    idempotent: true,
    audits: ['withdrawal.reject'],
    summary: 'Reject a withdrawal',
    description: `Rejects a withdrawal, returns its amount to the spendable balance, and notifies its user. ${RULES}`,
    body: z.object({
      reason: wellFormed(z.string().trim().max(MAX_REASON))
        .nullish()
        .meta({ description: 'Reason for the rejection; the user sees it in `meta`' }),
      take_over: takeOver,
    }),
    responses,
    errorCodes: { 409: REFUSALS },
    handle: async ({ params, caller, body, idempotencyKey: key }) => {
      const settlement = { outcome: 'rejected' as const, text: body.reason || null };
      const options = { takeOver: body.take_over === true, key };
      return ok({ payment: await settleWithdrawal(params.id, { ...settlement, ...options }, caller) });
    },
  }),
];

/** POST and DELETE /payments/:id/claim. */
export const claimRoutes = ({ claimWithdrawal, releaseWithdrawal }: UseCases): Route[] => [
  defineRoute({
    ...common,
    method: 'POST',
    path: '/payments/:id/claim',
    audits: ['withdrawal.claim'],
    summary: 'Claim a withdrawal',
    description:
      'Claims an open withdrawal for 30 minutes, before you send its money. Claiming again extends the time. Meanwhile other ' +
      'operators cannot pay, reject or claim it, unless they take it over. A withdrawal that nobody has claimed can be paid ' +
      'too. One that is settled, or that another operator has claimed, returns 409, and your own returns 403. Requires ' +
      '`payments.settle_withdrawals` and a log-in session.',
    body: z.object({ take_over: takeOver }),
    responses,
    errorCodes: { 409: REFUSALS },
    handle: async ({ params, caller, body }) =>
      ok({ payment: await claimWithdrawal(params.id, body.take_over === true, caller) }),
  }),
  defineRoute({
    ...common,
    method: 'DELETE',
    path: '/payments/:id/claim',
    audits: ['withdrawal.release'],
    summary: 'Release a withdrawal',
    description:
      'Ends your claim of a withdrawal. Another operator’s claim returns 409. Requires `payments.settle_withdrawals` and a ' +
      'log-in session.',
    responses: { 204: null, 409: claimedSchema },
    errorCodes: { 409: ['payments.claimed'] },
    handle: async ({ params, caller }) => {
      await releaseWithdrawal(params.id, caller);
      return noContent();
    },
  }),
];
