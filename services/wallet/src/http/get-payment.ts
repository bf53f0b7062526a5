import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getPaymentRoute = ({ showPayment }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/:id',
    summary: 'Retrieve a payment',
    description:
      'Returns a payment. Requires `payments.view_own` for your own payment. Another user’s payment returns 403 without ' +
      '`payments.view_all`, and an unknown id returns 404.',
    tag: 'Payments',
    pages: ['ops'],
    access: 'user',
    permissions: ['payments.view_own', 'payments.view_all'],
    params: idParams,
    responses: { 200: z.object({ payment: paymentSchema }) },
    handle: async ({ params, caller }) => ok({ payment: await showPayment(params.id, caller) }),
  });
