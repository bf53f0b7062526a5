import { boostSchema } from '@fitness/contracts/boost.ts';
import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import { z } from 'zod';
import { toBoostResource } from '../app/grant-resource.ts';
import type { Boost } from '../domain/grant.ts';
import { BOOST_LEVELS } from '../domain/offer.ts';
import { TARGET_TYPES } from '../domain/target.ts';
import type { UseCases } from '../use-cases.ts';

const PATH = '/payments/boost';

const toReply = (boost: Boost) => created({ data: toBoostResource(boost) });

export const postBoostRoute = ({ buyBoost }: UseCases, idempotency: Idempotency): Route =>
  defineRoute({
    method: 'POST',
    path: PATH,
    summary: 'Buy a boost from the wallet',
    description:
      'Boosts a gym or a training service and charges your wallet. The `level` determines the price (`GET ' +
      '/payments/prices`) and the position in lists. Requires `payments.boost_own` for your own target, or ' +
      '`payments.boost_all` for any target.',
    tag: 'payments',
    access: 'user',
    permissions: ['payments.boost_own', 'payments.boost_all'],
    audits: ['boost.buy'],
    idempotent: true,
    errorStyle: 'error_code',
    errorCodes: {
      400: ['payments.insufficient_balance', 'payments.boost_already_live'],
      404: ['payments.target_not_found'],
    },
    body: z.object({
      boostable_type: z.enum(TARGET_TYPES).meta({ description: 'Type of the target' }),
      boostable_id: z.int().meta({ description: 'Id of the gym or training service' }),
      level: z
        .enum(BOOST_LEVELS)
        .meta({ description: 'Level of the boost; lists show `pro` before `basic`' }),
    }),
    responses: { 201: z.object({ data: boostSchema }) },
    handle: ({ caller, body, idempotencyKey: clientKey }) =>
      idempotency.run(
        { userId: caller.userId, key: clientKey, fingerprint: ['POST', PATH, body] },
        toReply,
        (complete) => {
          const target = { type: body.boostable_type, id: body.boostable_id };
          return buyBoost(caller, { target, level: body.level }, { clientKey, complete });
        },
      ),
  });
