import { FIRST_PARTY } from '@fitness/shared/caller.ts';
import { defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { traineeSchema } from '../app/resources.ts';
import type { UseCases } from '../app/use-cases.ts';

export const postPurchase = ({ buyTrainingService }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/training-services/:id/purchase',
    summary: 'Buy a training service from the wallet',
    description:
      'Codes: 400 `payments.insufficient_balance`, `payments.own_service`; 404 `payments.target_not_found`. After a 503 ' +
      'the purchase goes on where it stopped when it is repeated with the same `Idempotency-Key`.',
    tag: 'training services',
    access: 'user',
    permissions: ['payments.view_own'],
    // The permission of seeing payments: whoever was lent that was not lent the money.
    tokenKinds: FIRST_PARTY,
    params: idParams,
    idempotent: true,
    errorStyle: 'error_code',
    responses: { 201: z.object({ data: traineeSchema }) },
    handle: ({ caller, params, idempotencyKey }) =>
      buyTrainingService(caller, { trainingServiceId: params.id, idempotencyKey }),
  });
