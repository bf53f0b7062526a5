import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import type { Idempotency } from '@fitness/shared/http/idempotency.ts';
import { subscriptionSchema } from '@fitness/shared/resources/subscription.ts';
import { z } from 'zod';
import type { BuyPremium } from '../app/buy-premium.ts';
import { grantResource } from '../app/resources.ts';
import type { Grant } from '../domain/grant.ts';
import { codedErrorSchema } from './schemas.ts';

const PATH = '/payments/buy-premium';

const answer = (grant: Grant) => created({ data: grantResource(grant) });

export const postBuyPremium = (parts: { buyPremium: BuyPremium; idempotency: Idempotency }): Route =>
  defineRoute({
    method: 'POST',
    path: PATH,
    summary: 'Buy a month of premium from the wallet',
    tag: 'payments',
    access: 'user',
    permissions: ['payments.buy_premium'],
    idempotent: true,
    errorStyle: 'error_code',
    body: z.object({ type: z.enum(['plus']) }),
    responses: { 201: z.object({ data: subscriptionSchema }), 400: codedErrorSchema },
    handle: ({ caller, body, idempotencyKey }) =>
      parts.idempotency.run(
        { userId: caller.userId, key: idempotencyKey, fingerprint: ['POST', PATH, body] },
        async (run) => {
          const grant = await parts.buyPremium(caller.userId, {
            clientKey: idempotencyKey,
            complete: (session, made) => run.complete(session, answer(made)),
          });
          return answer(grant);
        },
      ),
  });
