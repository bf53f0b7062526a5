import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import { DISPUTE_OUTCOMES } from '../domain/payment.ts';
import type { UseCases } from '../use-cases.ts';
import { resolvedSchema } from './schemas.ts';

const MAX_NOTE = 2_000;

export const postResolutionRoute = ({ resolveDeposit }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/:id/resolve',
    summary: 'Resolve a disputed deposit',
    description:
      'Closes a disputed deposit and notifies its user. `credited` adds the requested amount to the wallet, whatever the ' +
      'gateway took. `returned` adds nothing: the operator has returned the money to the payer. A credit of an erased account ' +
      'can only be `returned`: `credited` returns 409. Repeating your request with the same outcome and note returns the ' +
      'payment as it is. Any other request returns 409 and is recorded in the audit log, including one for a deposit that is ' +
      'not disputed. Only a log-in session may do this. Requires `payments.resolve_disputes`.',
    tag: 'Payments',
    pages: ['ops'],
    access: 'user',
    permissions: ['payments.resolve_disputes'],
    tokenKinds: SESSION_ONLY,
    idempotent: true,
    audits: ['deposit.resolve', 'deposit.resolve_refused'],
    params: idParams,
    body: z.object({
      outcome: z
        .enum(DISPUTE_OUTCOMES)
        .meta({ description: 'Whether the amount is credited to the wallet or was returned to the payer' }),
      note: wellFormed(z.string().trim().min(1).max(MAX_NOTE)).meta({
        description: 'Reason for the decision; only operators see it',
      }),
    }),
    responses: { 200: z.object({ payment: paymentSchema }), 409: resolvedSchema },
    errorCodes: { 409: ['payments.already_settled'] },
    handle: async ({ params, body, caller }) =>
      ok({ payment: await resolveDeposit(params.id, body, caller) }),
  });
