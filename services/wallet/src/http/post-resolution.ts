import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import { DISPUTE_OUTCOMES } from '../domain/payment.ts';
import type { UseCases } from '../use-cases.ts';
import { conflictSchema } from './schemas.ts';

const MAX_NOTE = 2_000;

export const postResolutionRoute = ({ resolveDeposit }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/:id/resolve',
    summary: 'Resolve a disputed deposit',
    description:
      'Closes a disputed deposit and notifies its user. `credited` adds the requested amount to the wallet, whatever the ' +
      'gateway took. `returned` adds nothing: the operator has returned the money to the payer. Repeating the request with ' +
      'the same outcome returns the payment unchanged. The other outcome returns 409, and so does a deposit that is not disputed. ' +
      'Requires `payments.resolve_disputes`.',
    tag: 'Payments',
    pages: ['ops'],
    access: 'user',
    permissions: ['payments.resolve_disputes'],
    audits: ['deposit.resolve'],
    params: idParams,
    body: z.object({
      outcome: z
        .enum(DISPUTE_OUTCOMES)
        .meta({ description: 'Whether the amount is credited to the wallet or was returned to the payer' }),
      note: wellFormed(z.string().trim().min(1).max(MAX_NOTE)).meta({
        description: 'Reason for the decision; only operators see it',
      }),
    }),
    responses: { 200: z.object({ payment: paymentSchema }), 409: conflictSchema },
    handle: async ({ params, body, caller }) =>
      ok({ payment: await resolveDeposit(params.id, body, caller) }),
  });
