import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const getPaymentRoute = ({ showPayment }: Pick<UseCases, 'showPayment'>): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/:id',
    summary: 'Show a payment',
    description: 'An own one with `payments.view_own`, any with `payments.view_all`; others are 404.',
    tag: 'Payments',
    access: 'user',
    permissions: ['payments.view_own', 'payments.view_all'],
    params: idParams,
    responses: { 200: z.object({ payment: paymentSchema }) },
    handle: async ({ params, caller }) => ok({ payment: await showPayment(params.id, caller) }),
  });
