import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { UseCases } from '../use-cases.ts';
import { conflictSchema } from './schemas.ts';

const MAX_REASON = 2_000;

const common = {
  method: 'POST',
  description: 'For operators. The same outcome again answers the payment as it is; another one is 409.',
  tag: 'Payments',
  access: 'user',
  permissions: ['payments.settle_withdrawals'],
  params: idParams,
  responses: {
    200: z.object({ payment: paymentSchema }),
    409: conflictSchema,
  },
} as const;

/** POST /payments/:id/pay and /reject. */
export const settlementRoutes = ({ settleWithdrawal }: Pick<UseCases, 'settleWithdrawal'>): Route[] => [
  defineRoute({
    ...common,
    path: '/payments/:id/pay',
    audits: ['withdrawal.pay'],
    summary: 'Mark a withdrawal as transferred',
    handle: async ({ params, caller }) =>
      ok({ payment: await settleWithdrawal(params.id, { outcome: 'paid', reason: null }, caller) }),
  }),
  defineRoute({
    ...common,
    path: '/payments/:id/reject',
    audits: ['withdrawal.reject'],
    summary: 'Reject a withdrawal and release its amount',
    body: z.object({
      reason: wellFormed(z.string().trim().max(MAX_REASON))
        .nullish()
        .meta({ description: 'For the user, in `meta`' }),
    }),
    handle: async ({ params, caller, body }) => {
      const settlement = { outcome: 'rejected' as const, reason: body.reason || null };
      return ok({ payment: await settleWithdrawal(params.id, settlement, caller) });
    },
  }),
];
