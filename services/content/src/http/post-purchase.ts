import { FIRST_PARTY } from '@fitness/shared/caller.ts';
import { defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import { traineeSchema } from '../app/resources.ts';
import type { UseCases } from '../app/use-cases.ts';
import { priceField } from './fields.ts';

export const postPurchase = ({ buyTrainingService }: UseCases): Route =>
  defineRoute({
    method: 'POST',
    path: '/training-services/:id/purchase',
    summary: 'Buy a training service from the wallet',
    description:
      'At the price of this moment; with `price` (Tooman, what the buyer has read) only at that one. Codes: 400 ' +
      '`payments.insufficient_balance`, `payments.own_service`, `payments.price_changed`; 404 ' +
      '`payments.target_not_found`. After a 503 ' +
      'the purchase goes on where it stopped when it is repeated with the same `Idempotency-Key`.',
    tag: 'training services',
    access: 'user',
    permissions: ['payments.view_own'],
    // The permission of seeing payments: whoever was lent that was not lent the money.
    tokenKinds: FIRST_PARTY,
    params: idParams,
    body: z.object({ price: priceField.optional() }),
    idempotent: true,
    errorStyle: 'error_code',
    responses: { 201: z.object({ data: traineeSchema }) },
    handle: ({ caller, params, body, idempotencyKey }) =>
      buyTrainingService(caller, { trainingServiceId: params.id, price: body.price, idempotencyKey }),
  });
