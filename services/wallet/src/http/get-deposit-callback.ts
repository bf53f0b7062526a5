import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { ReceiveCallback } from '../app/receive-callback.ts';

const digits = z.string().regex(/^\d{1,15}$/);

export const getDepositCallbackRoute = (receiveCallback: ReceiveCallback): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/deposit/callback',
    summary: 'The bank gateway sends the payer back',
    description:
      'The gateway itself is asked whether the payment was made, whatever the query says. Redirects to the app with ' +
      '`payment_id` and `status` (`done`, `cancelled`, `failed`, `pending`) when it has an address, else answers the payment, without the ' +
      'payer’s words and card for who brings no `orderId` of the gateway.',
    tag: 'Payments',
    access: 'guest',
    // `success` and `status` come along and are not read: nothing that they say or lack keeps the payer from his money.
    query: z.object({
      trackId: digits,
      orderId: z
        .string()
        .regex(/^[\w-]{1,64}$/)
        .optional(),
    }),
    mayRefuse: [404],
    responses: { 200: z.object({ payment: paymentSchema }), 302: null },
    handle: async ({ query, caller }) => {
      const result = await receiveCallback({ trackId: query.trackId, orderId: query.orderId, caller });
      if ('location' in result) return { status: 302, headers: { location: result.location } };
      return ok(result);
    },
  });
