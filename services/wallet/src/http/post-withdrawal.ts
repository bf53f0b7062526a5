import { FIRST_PARTY } from '@fitness/shared/caller.ts';
import { message } from '@fitness/shared/error.ts';
import { defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { RequestWithdrawal } from '../app/request-withdrawal.ts';
import { description } from './description.ts';

export const postWithdrawalRoute = (requestWithdrawal: RequestWithdrawal): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/withdrawals',
    summary: 'Ask for a withdrawal',
    description:
      'The amount is held out of the balance at once, and released only when an operator rejects it.',
    tag: 'Payments',
    access: 'user',
    permissions: ['payments.view_own'],
    // The permission of seeing payments: whoever was lent that was not lent the money.
    tokenKinds: FIRST_PARTY,
    body: z.object({ amount: z.int().min(1), description }),
    idempotent: true,
    responses: { 201: z.object({ payment: paymentSchema }) },
    handle: ({ caller, body, t, idempotencyKey }) =>
      requestWithdrawal({
        caller,
        amount: body.amount,
        description: body.description || t(message('payments.withdrawal_description')),
        idempotencyKey,
        fingerprint: ['withdrawals', body],
      }),
  });
