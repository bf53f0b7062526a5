import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryId } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { disputedDepositSchema, erasedBalanceSchema } from '../app/list-disputed-deposits.ts';
import type { UseCases } from '../use-cases.ts';

export const getDisputedDepositsRoute = ({ listDisputedDeposits }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/deposit/disputed',
    summary: 'List disputed deposits',
    description:
      'Returns the deposits for which the bank gateway took a different amount than requested, or took it for a different ' +
      'order, newest first. Deposits and incomes of erased accounts are among them. Nothing is credited until an operator ' +
      'resolves the payment with `POST /payments/{id}/resolve`. Requires `payments.view_all`.',
    tag: 'Payments',
    pages: ['ops'],
    access: 'user',
    permissions: ['payments.view_all'],
    query: z.object({
      ...pageQuery,
      user_id: queryId.optional().meta({ description: 'Only deposits of this user' }),
    }),
    responses: {
      200: listOf(disputedDepositSchema)
        .extend({
          erased_balances: z
            .array(erasedBalanceSchema)
            .optional()
            .meta({ description: 'Erased accounts that still have a balance; on the first page only' }),
        })
        .meta({ id: 'DisputedDepositList' }),
    },
    handle: async ({ caller, query, url }) => {
      const request = toPageRequest(query, url);
      const { page, data, erasedBalances } = await listDisputedDeposits(caller, request, query.user_id);
      return ok({
        ...listBody({ baseUrl, url, request, page, data }),
        ...(erasedBalances === undefined ? {} : { erased_balances: erasedBalances }),
      });
    },
  });
