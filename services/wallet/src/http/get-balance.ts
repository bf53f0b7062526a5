import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { queryId } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const getBalanceRoute = ({ showBalance }: Pick<UseCases, 'showBalance'>): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/balance',
    summary: 'The spendable balance',
    description: 'Whole Tooman; withdrawals that are not rejected are already held out of it.',
    tag: 'Payments',
    access: 'user',
    permissions: ['payments.view_own', 'payments.view_all'],
    query: z.object({
      user_id: queryId.optional().meta({ description: 'Of another user only with payments.view_all' }),
    }),
    responses: { 200: z.object({ balance: z.int() }).meta({ id: 'Balance' }) },
    handle: async ({ caller, query }) => ok({ balance: await showBalance(caller, query.user_id) }),
  });
