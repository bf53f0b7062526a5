import { boostSchema } from '@fitness/contracts/boost.ts';
import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import { z } from 'zod';
import { toBoostResource } from '../app/grant-resource.ts';
import type { Boost } from '../domain/grant.ts';
import { BOOST_LEVELS } from '../domain/offer.ts';
import { TARGET_TYPES } from '../domain/target.ts';
import type { UseCases } from '../use-cases.ts';
import { codedErrorSchema } from './schemas.ts';

const PATH = '/payments/boost';

const toReply = (boost: Boost) => created({ data: toBoostResource(boost) });

export const postBoostRoute = ({ buyBoost }: Pick<UseCases, 'buyBoost'>, idempotency: Idempotency): Route =>
  defineRoute({
    method: 'POST',
    path: PATH,
    summary: 'Boost a gym or a training service from the wallet',
    description:
      'Codes: 400 `payments.insufficient_balance`, `payments.boost_already_live`; 404 `payments.target_not_found`. `level` decides about the price, see `GET /payments/prices`, and about the position in lists.',
    tag: 'payments',
    access: 'user',
    permissions: ['payments.boost_own', 'payments.boost_all'],
    audits: ['boost.buy'],
    idempotent: true,
    errorStyle: 'error_code',
    body: z.object({
      boostable_type: z.enum(TARGET_TYPES),
      boostable_id: z.int(),
      level: z.enum(BOOST_LEVELS),
    }),
    responses: { 201: z.object({ data: boostSchema }), 400: codedErrorSchema, 404: codedErrorSchema },
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
