import { subscriptionSchema } from '@fitness/contracts/subscription.ts';
import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import { z } from 'zod';
import { toSubscriptionResource } from '../app/grant-resource.ts';
import type { Subscription } from '../domain/grant.ts';
import type { UseCases } from '../use-cases.ts';

const PATH = '/payments/buy-premium';

const toReply = (subscription: Subscription) => created({ data: toSubscriptionResource(subscription) });

export const postBuyPremiumRoute = ({ buyPremium }: UseCases, idempotency: Idempotency): Route =>
  defineRoute({
    method: 'POST',
    path: PATH,
    summary: 'Buy premium from the wallet',
    description:
      'Starts a premium subscription of one month for you and charges your wallet (`GET /payments/prices`). ' +
      'Requires `payments.buy_premium`.',
    tag: 'payments',
    access: 'user',
    permissions: ['payments.buy_premium'],
    idempotent: true,
    errorStyle: 'error_code',
    errorCodes: {
      400: ['payments.insufficient_balance', 'payments.premium_already_active'],
      404: ['payments.target_not_found'],
    },
    body: z.object({ type: z.enum(['plus']).meta({ description: 'Premium plan' }) }),
    responses: { 201: z.object({ data: subscriptionSchema }) },
    handle: ({ caller, body, idempotencyKey: clientKey }) =>
      idempotency.run(
        { userId: caller.userId, key: clientKey, fingerprint: ['POST', PATH, body] },
        toReply,
        (complete) => buyPremium(caller.userId, { clientKey, complete }),
      ),
  });
