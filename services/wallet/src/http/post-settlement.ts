import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { Outcome, SettleWithdrawal } from '../app/settle-withdrawal.ts';

const ROUTES = {
  paid: { verb: 'pay', summary: 'Mark a withdrawal as transferred' },
  rejected: { verb: 'reject', summary: 'Reject a withdrawal and release its amount' },
} as const satisfies Record<Outcome, { verb: string; summary: string }>;

const settlementRoute = (settleWithdrawal: SettleWithdrawal, outcome: Outcome): Route =>
  defineRoute({
    method: 'POST',
    path: `/payments/:id/${ROUTES[outcome].verb}`,
    summary: ROUTES[outcome].summary,
    description: 'For operators; 409 when it is settled already.',
    tag: 'Payments',
    access: 'user',
    permissions: ['payments.settle_withdrawals'],
    params: idParams,
    responses: {
      200: z.object({ payment: paymentSchema }),
      409: z.object({ message: z.string() }).meta({ id: 'Conflict' }),
    },
    handle: async ({ params, caller }) => ok({ payment: await settleWithdrawal(params.id, outcome, caller) }),
  });

/** POST /payments/:id/pay and /reject. */
export const settlementRoutes = (settleWithdrawal: SettleWithdrawal): Route[] => [
  settlementRoute(settleWithdrawal, 'paid'),
  settlementRoute(settleWithdrawal, 'rejected'),
];
