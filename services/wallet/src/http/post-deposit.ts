import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_AND_PERSONAL } from '@fitness/shared/kernel/caller.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import { PROVIDER_ERROR } from '../app/provider-error.ts';
import type { RequestedDeposit } from '../app/request-deposit.ts';
import type { UseCases } from '../use-cases.ts';
import { description } from './description.ts';
import { providerErrorSchema } from './schemas.ts';

export const MIN_TOOMAN = 1_000;
export const MAX_TOOMAN = 500_000_000;

export const postDepositRoute = ({ requestDeposit }: UseCases, idempotency: Idempotency): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/deposit',
    summary: 'Start a deposit',
    description:
      'Opens a payment at the bank gateway and records the deposit. Send the payer to `payment_url`. The gateway’s fee is ' +
      'charged on top of `amount` (see `meta`). The amount is credited to the wallet once the gateway confirms the ' +
      'payment. You may have at most ten open deposits: those of the last 30 minutes that are neither paid, cancelled nor ' +
      'expired. You may start at most 50 deposits in 24 hours, including cancelled ones. One more returns 422 under ' +
      '`amount`. A repeated `Idempotency-Key` does not count. If the gateway returns no usable response, the request fails with 500 ' +
      '`payments.provider_error`. Requires `payments.view_own`.',
    tag: 'Payments',
    access: 'user',
    permissions: ['payments.view_own'],
    // Restricted and OAuth tokens with `payments.view_own` may read payments, but must not move money.
    tokenKinds: SESSION_AND_PERSONAL,
    body: z.object({
      amount: z
        .int()
        .min(MIN_TOOMAN)
        .max(MAX_TOOMAN)
        .meta({ description: 'Amount to credit, in Tooman, without the fee' }),
      description,
    }),
    idempotent: true,
    errorCodes: { 500: [PROVIDER_ERROR] },
    responses: {
      201: z
        .object({
          payment: paymentSchema,
          payment_url: z.string().meta({ description: 'Address of the gateway’s payment page' }),
        })
        .meta({ id: 'RequestedDeposit' }),
      500: providerErrorSchema,
    },
    handle: ({ caller, body, t, idempotencyKey }) =>
      idempotency.run(
        { userId: caller.userId, key: idempotencyKey, fingerprint: ['deposit', body] },
        ({ payment, paymentUrl }: RequestedDeposit) => created({ payment, payment_url: paymentUrl }),
        (complete) =>
          requestDeposit(
            {
              caller,
              amount: body.amount,
              description: body.description || t(message('payments.deposit_description')),
            },
            complete,
          ),
      ),
  });
