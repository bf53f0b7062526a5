import { FIRST_PARTY } from '@fitness/shared/caller.ts';
import { message } from '@fitness/shared/error.ts';
import { defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { RequestDeposit } from '../app/request-deposit.ts';
import { description } from './description.ts';

const MIN_TOOMAN = 1_000;
const MAX_TOOMAN = 500_000_000;

export const postDepositRoute = (requestDeposit: RequestDeposit): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/deposit',
    summary: 'Begin a deposit',
    description:
      'The payer is sent to `payment_url`. The gateway’s fee comes on top of the credited amount, see `meta`.',
    tag: 'Payments',
    access: 'user',
    permissions: ['payments.view_own'],
    // The permission of seeing payments: whoever was lent that was not lent the money.
    tokenKinds: FIRST_PARTY,
    body: z.object({ amount: z.int().min(MIN_TOOMAN).max(MAX_TOOMAN), description }),
    idempotent: true,
    responses: {
      201: z.object({ payment: paymentSchema, payment_url: z.string() }),
      500: z
        .object({ message: z.string(), code: z.literal('payments.provider_error') })
        .meta({ id: 'ProviderError' }),
    },
    handle: ({ caller, body, t, idempotencyKey }) =>
      requestDeposit({
        caller,
        amount: body.amount,
        description: body.description || t(message('payments.deposit_description')),
        idempotencyKey,
        fingerprint: ['deposit', body],
      }),
  });
