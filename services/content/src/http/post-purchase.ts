import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { SESSION_AND_PERSONAL } from '@fitness/shared/kernel/caller.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import { z } from 'zod';
import { type TraineeResource, traineeSchema } from '../app/trainee-resource.ts';
import { trainingServiceInput } from '../domain/training-service.ts';
import type { UseCases } from '../use-cases.ts';

export const postPurchaseRoute = ({ buyTrainingService }: UseCases, idempotency: Idempotency): Route =>
  defineRoute({
    method: 'POST',
    path: '/training-services/:id/purchase',
    summary: 'Buy a training service',
    description:
      'Buys a training service at its current price, charges your wallet, and notifies the seller. Send the ' +
      '`price` that the buyer has seen to make sure that they pay no other price. After a 503, repeat the ' +
      'request with the same `Idempotency-Key` to resume the purchase. Requires `payments.view_own`.',
    tag: 'training services',
    access: 'user',
    permissions: ['payments.view_own'],
    // Restricted and OAuth tokens with `payments.view_own` may see payments but must not make them.
    tokenKinds: SESSION_AND_PERSONAL,
    params: idParams,
    body: z.object({
      price: trainingServiceInput.price.optional().meta({
        description: 'Price that the buyer has seen, in Tooman. Without it, the current price is charged.',
      }),
    }),
    idempotent: true,
    errorStyle: 'error_code',
    errorCodes: {
      400: ['payments.insufficient_balance', 'payments.own_service', 'payments.price_changed'],
      404: ['payments.target_not_found'],
    },
    responses: { 201: z.object({ data: traineeSchema }) },
    handle: ({ caller, params, body, idempotencyKey }) =>
      idempotency.run(
        {
          userId: caller.userId,
          key: idempotencyKey,
          fingerprint: ['POST', 'training-service-purchase', params.id, body.price],
        },
        (data: TraineeResource) => created({ data }),
        (complete) =>
          buyTrainingService(
            caller,
            { trainingServiceId: params.id, price: body.price, idempotencyKey },
            complete,
          ),
      ),
  });
