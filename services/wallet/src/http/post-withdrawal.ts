import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { SESSION_AND_PERSONAL } from '@fitness/shared/kernel/caller.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import { z } from 'zod';
import { type PaymentResource, paymentSchema } from '../app/payment-resource.ts';
import type { UseCases } from '../use-cases.ts';
import { description } from './description.ts';

export const postWithdrawalRoute = ({ requestWithdrawal }: UseCases, idempotency: Idempotency): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/withdrawals',
    summary: 'Request a withdrawal',
    description:
      'Requests a transfer from your wallet to the bank account in your profile. A later change of the profile does not ' +
      'affect it. The amount is deducted from the balance at once, and returned only if an operator rejects the ' +
      'withdrawal. An amount above the balance returns 422 under `amount`, and a profile without a bank account returns 422 under ' +
      '`bank_account_number`. Requires `payments.view_own`.',
    tag: 'Payments',
    access: 'user',
    permissions: ['payments.view_own'],
    // Restricted and OAuth tokens with `payments.view_own` may read payments, but must not move money.
    tokenKinds: SESSION_AND_PERSONAL,
    body: z.object({
      amount: z.int().min(1).meta({ description: 'Amount to withdraw, in Tooman' }),
      description,
    }),
    idempotent: true,
    responses: { 201: z.object({ payment: paymentSchema }) },
    handle: ({ caller, body, t, idempotencyKey }) =>
      idempotency.run(
        { userId: caller.userId, key: idempotencyKey, fingerprint: ['withdrawals', body] },
        (payment: PaymentResource) => created({ payment }),
        (complete) =>
          requestWithdrawal(
            {
              caller,
              amount: body.amount,
              description: body.description || t(message('payments.withdrawal_description')),
            },
            complete,
          ),
      ),
  });
