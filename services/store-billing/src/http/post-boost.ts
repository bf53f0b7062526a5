import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import type { Idempotency } from '@fitness/shared/http/idempotency.ts';
import { boostSchema } from '@fitness/shared/resources/boost.ts';
import { z } from 'zod';
import type { BuyBoost } from '../app/buy-boost.ts';
import { grantResource } from '../app/resources.ts';
import type { Grant } from '../domain/grant.ts';
import { BOOST_LEVELS } from '../domain/offer.ts';
import { TARGET_TYPES } from '../domain/target.ts';
import { codedErrorSchema } from './schemas.ts';

const PATH = '/payments/boost';

const answer = (grant: Grant) => created({ data: grantResource(grant) });

export const postBoost = (parts: { buyBoost: BuyBoost; idempotency: Idempotency }): Route =>
  defineRoute({
    method: 'POST',
    path: PATH,
    summary: 'Boost a gym or a training service from the wallet',
    tag: 'payments',
    access: 'user',
    permissions: ['payments.boost_own', 'payments.boost_all'],
    idempotent: true,
    errorStyle: 'error_code',
    body: z.object({
      boostable_type: z.enum(TARGET_TYPES),
      boostable_id: z.int(),
      level: z.enum(BOOST_LEVELS),
    }),
    responses: { 201: z.object({ data: boostSchema }), 400: codedErrorSchema, 404: codedErrorSchema },
    handle: ({ caller, body, idempotencyKey }) =>
      parts.idempotency.run(
        { userId: caller.userId, key: idempotencyKey, fingerprint: ['POST', PATH, body] },
        async (run) => {
          const target = { type: body.boostable_type, id: body.boostable_id };
          const grant = await parts.buyBoost(
            caller,
            { target, level: body.level },
            {
              clientKey: idempotencyKey,
              complete: (session, made) => run.complete(session, answer(made)),
            },
          );
          return answer(grant);
        },
      ),
  });
