import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { resolvedRefundSchema, toResolvedRefundResource } from '../app/refund-resource.ts';
import { REFUND_OUTCOMES } from '../domain/refund.ts';
import type { UseCases } from '../use-cases.ts';

const MAX_NOTE = 2_000;

export const postRefundResolutionRoute = ({ resolveRefund }: Pick<UseCases, 'resolveRefund'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/store-purchases/refund-queue/:id/resolve',
    summary: 'Close a row of the refund queue',
    description:
      '`refunded`: the money was returned, and the purchase is not granted any more. `granted` asks the store again and ' +
      'grants the purchase; 409 when that is not possible. A purchase that is granted already can only be closed as ' +
      '`granted`. The same outcome again answers the row as it is; another one is 409. The user is notified.',
    tag: 'payments',
    pages: ['ops'],
    access: 'user',
    permissions: ['payments.resolve_disputes'],
    audits: ['refund.resolve'],
    params: idParams,
    body: z.object({
      outcome: z.enum(REFUND_OUTCOMES),
      note: wellFormed(z.string().trim().min(1).max(MAX_NOTE)).meta({ description: 'Why; for operators' }),
    }),
    errorStatuses: [409],
    responses: { 200: z.object({ data: resolvedRefundSchema }) },
    handle: async ({ params, body, caller }) =>
      ok({ data: toResolvedRefundResource(await resolveRefund(params.id, body, caller)) }),
  });
