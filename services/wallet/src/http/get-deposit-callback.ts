import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { paymentSchema } from '../app/payment-resource.ts';
import { PROVIDER_ERROR } from '../app/provider-error.ts';
import type { UseCases } from '../use-cases.ts';
import { providerErrorSchema } from './schemas.ts';

const digits = z.string().regex(/^\d{1,15}$/);

const redirect = (location: string) => ({ status: 302 as const, headers: { location } });

export const getDepositCallbackRoute = ({ receiveCallback }: UseCases): Route =>
  defineRoute({
    method: 'GET',
    path: '/payments/deposit/callback',
    summary: 'Return from the bank gateway',
    description:
      'The bank gateway redirects the payer’s browser here; apps do not call it. The deposit is verified ' +
      'with the gateway, and what the query says about success is ignored. If a return address is configured, ' +
      'the browser is redirected to the app with `payment_id` and `status` (`done`, `cancelled`, `failed` or ' +
      '`pending`). Otherwise the payment is returned.\n\n' +
      'Without the gateway’s `orderId` the response is 404, unless you are the payer. After 30 of these to one ' +
      'address within a minute, the response is 429.',
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
    errorCodes: { 500: [PROVIDER_ERROR] },
    responses: { 200: z.object({ payment: paymentSchema }), 302: null, 500: providerErrorSchema },
    handle: async ({ query, caller, clientAddress }) => {
      const { trackId, orderId } = query;
      const result = await receiveCallback({ trackId, orderId, caller, clientAddress });
      return 'location' in result ? redirect(result.location) : ok(result);
    },
  });
