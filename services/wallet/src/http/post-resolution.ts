import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import { DISPUTE_OUTCOMES } from '../domain/payment.ts';
import type { UseCases } from '../use-cases.ts';
import { conflictSchema } from './schemas.ts';

const MAX_NOTE = 2_000;

export const postResolutionRoute = ({ resolveDeposit }: Pick<UseCases, 'resolveDeposit'>): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/:id/resolve',
    summary: 'Close a disputed deposit',
    description:
      '`credited` books the requested amount, `returned` books nothing. The same outcome again answers the payment as ' +
      'it is; another one is 409, as is a deposit that is not disputed.',
    tag: 'Payments',
    pages: ['ops'],
    access: 'user',
    permissions: ['payments.resolve_disputes'],
    audits: ['deposit.resolve'],
    params: idParams,
    body: z.object({
      outcome: z.enum(DISPUTE_OUTCOMES),
      note: wellFormed(z.string().trim().min(1).max(MAX_NOTE)).meta({ description: 'Why; for operators' }),
    }),
    responses: { 200: z.object({ payment: paymentSchema }), 409: conflictSchema },
    handle: async ({ params, body, caller }) =>
      ok({ payment: await resolveDeposit(params.id, body, caller) }),
  });
