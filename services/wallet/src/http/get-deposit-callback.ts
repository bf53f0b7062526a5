import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import type { UseCases } from '../use-cases.ts';

const digits = z.string().regex(/^\d{1,15}$/);

const redirect = (location: string) => ({ status: 302 as const, headers: { location } });

export const getDepositCallbackRoute = ({ receiveCallback }: Pick<UseCases, 'receiveCallback'>): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/deposit/callback',
    summary: 'The bank gateway sends the payer back',
    description:
      'Verifies the payment with the gateway; what the query says about success is ignored. Redirects to the app ' +
      'with `payment_id` and `status` (`done`, `cancelled`, `failed`, `pending`) when an address is configured, else ' +
      'answers the payment. 404 without the `orderId` of the gateway, unless the caller is the payer; 429 after 30 of ' +
      'these from one address in a minute.',
    tag: 'Payments',
    access: 'guest',
    // `success` and `status` are ignored: only the gateway decides.
    query: z.object({
      trackId: digits,
      orderId: z
        .string()
        .regex(/^[\w-]{1,64}$/)
        .optional(),
    }),
    errorStatuses: [404, 429],
    responses: { 200: z.object({ payment: paymentSchema }), 302: null },
    handle: async ({ query, caller, clientAddress }) => {
      const { trackId, orderId } = query;
      const result = await receiveCallback({ trackId, orderId, caller, clientAddress });
      return 'location' in result ? redirect(result.location) : ok(result);
    },
  });
