import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { queryId } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

export const getBalanceRoute = ({ showBalance }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/balance',
    summary: 'Retrieve the wallet balance',
    description:
      'Returns your spendable balance: verified deposits and income, minus purchases, commissions and every withdrawal ' +
      'that has not been rejected. A pending withdrawal is deducted from the moment of its request. Requires ' +
      '`payments.view_own` for your own balance, or `payments.view_all` for the balance of any user.',
    tag: 'Payments',
    pages: ['ops'],
    access: 'user',
    permissions: ['payments.view_own', 'payments.view_all'],
    query: z.object({
      user_id: queryId.optional().meta({
        description:
          'User whose balance to return, by default you. Requires `payments.view_all` for another user.',
      }),
    }),
    responses: {
      200: z
        .object({ balance: z.int().meta({ description: 'Spendable balance, in Tooman' }) })
        .meta({ id: 'Balance' }),
    },
    handle: async ({ caller, query }) => ok({ balance: await showBalance(caller, query.user_id) }),
  });
