import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_ONLY } from '@fitness/shared/kernel/caller.ts';
import { wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import {
  refundConflictSchema,
  resolvedRefundSchema,
  toResolvedRefundResource,
} from '../app/refund-resource.ts';
import { REFUND_OUTCOMES } from '../domain/refund.ts';
import type { UseCases } from '../use-cases.ts';

const MAX_NOTE = 2_000;

export const postRefundResolutionRoute = ({ resolveRefund }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/store-purchases/refund-queue/:id/resolve',
    summary: 'Resolve a store purchase refund',
    description:
      'Closes an entry of the refund queue and notifies the user. `refunded` records that the money was returned, and the ' +
      'purchase can no longer be granted. `granted` verifies the purchase with the store again and grants it; it returns 409 if ' +
      'that is not possible. A purchase that has already been granted can only be closed as `granted`. Repeating your ' +
      'request with the same outcome and note returns the entry as it is. Any other request for a closed entry returns 409 ' +
      'and is recorded in the audit log. Requires `payments.resolve_disputes` and a log-in session.',
    tag: 'payments',
    pages: ['ops'],
    access: 'user',
    permissions: ['payments.resolve_disputes'],
    tokenKinds: SESSION_ONLY,
    idempotent: true,
    audits: ['refund.resolve', 'refund.resolve_refused'],
    params: idParams,
    body: z.object({
      outcome: z
        .enum(REFUND_OUTCOMES)
        .meta({ description: 'Whether the money was returned or the purchase is granted' }),
      note: wellFormed(z.string().trim().min(1).max(MAX_NOTE)).meta({
        description: 'Reason for the decision; only operators see it',
      }),
    }),
    responses: { 200: z.object({ data: resolvedRefundSchema }), 409: refundConflictSchema },
    errorCodes: { 409: ['payments.already_settled'] },
    handle: async ({ params, body, caller }) =>
      ok({ data: toResolvedRefundResource(await resolveRefund(params.id, body, caller)) }),
  });
