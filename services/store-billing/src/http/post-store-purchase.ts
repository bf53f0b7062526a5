import { created, defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { says } from '@fitness/shared/http/validation.ts';
import { boostSchema } from '@fitness/shared/resources/boost.ts';
import { subscriptionSchema } from '@fitness/shared/resources/subscription.ts';
import { z } from 'zod';
import type { RedeemStorePurchase } from '../app/redeem-store-purchase.ts';
import { grantResource } from '../app/resources.ts';
import type { Catalogue } from '../domain/offer.ts';
import { isStoreToken } from '../domain/purchase.ts';
import { isTargetType, TARGET_TYPES, type Target } from '../domain/target.ts';
import { codedErrorSchema } from './schemas.ts';

export interface StorePurchaseParts {
  redeem: RedeemStorePurchase;
  catalogue: Catalogue;
  /** The one channel that is accepted. */
  channel: string;
}

const MAX_SKU = 191;
const MAX_TOKEN = 255;
const BOOSTS_ONLY = 'Boost SKUs only; ignored for premium';

type TargetField = 'boostable_type' | 'boostable_id';

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** The target's fields count for a boost SKU alone, so they are judged beside it, whatever else is wrong. */
const bodySchema = ({ catalogue, channel }: StorePurchaseParts) => {
  const isBoost = (body: unknown): boolean => {
    const productId = field(body, 'product_id');
    return typeof productId === 'string' && catalogue.bySku(productId)?.kind === 'boost';
  };
  const has = (name: TargetField) => (body: unknown) => !isBoost(body) || !isAbsent(field(body, name));
  const fits = (name: TargetField, check: (value: unknown) => boolean) => (body: unknown) =>
    !isBoost(body) || isAbsent(field(body, name)) || check(field(body, name));
  const under = (name: TargetField, text: ReturnType<typeof says>) => ({
    path: [name] as PropertyKey[],
    when: () => true,
    ...text,
  });
  const types = says('validation.one_of', { values: TARGET_TYPES.join(', ') });
  return z
    .object({
      channel: z.enum([channel]),
      product_id: z.string().min(1).max(MAX_SKU),
      purchase_token: z.string().min(1).max(MAX_TOKEN).refine(isStoreToken, says('validation.invalid')),
      boostable_type: z
        .unknown()
        .optional()
        .meta({ type: 'string', enum: [...TARGET_TYPES], description: BOOSTS_ONLY }),
      boostable_id: z.unknown().optional().meta({ type: 'integer', description: BOOSTS_ONLY }),
    })
    .refine(has('boostable_type'), under('boostable_type', says('validation.required')))
    .refine(has('boostable_id'), under('boostable_id', says('validation.required')))
    .refine(fits('boostable_type', isTargetType), under('boostable_type', types))
    .refine(
      fits('boostable_id', Number.isSafeInteger),
      under('boostable_id', says('validation.type.integer')),
    );
};

export const postStorePurchase = (parts: StorePurchaseParts): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/store-purchases',
    summary: 'Redeem an app-store purchase',
    description:
      'Grants what an already settled purchase bought. Presenting the same token again answers 200 with the same grant.',
    tag: 'payments',
    access: 'user',
    permissions: ['payments.buy_premium', 'payments.boost_own', 'payments.boost_all'],
    alsoNeeds: ['payments.view_own'],
    limit: { name: 'store-purchase', points: 10, windowS: 60 },
    errorStyle: 'error_code',
    body: bodySchema(parts),
    responses: {
      200: z.object({ data: z.union([subscriptionSchema, boostSchema]) }),
      201: z.object({ data: z.union([subscriptionSchema, boostSchema]) }),
      400: codedErrorSchema,
      404: codedErrorSchema,
      500: codedErrorSchema,
    },
    handle: async ({ caller, body }) => {
      const { product_id: productId, purchase_token: purchaseToken } = body;
      const isBoost = parts.catalogue.bySku(productId)?.kind === 'boost';
      const target = isBoost ? ({ type: body.boostable_type, id: body.boostable_id } as Target) : null;
      const { fresh, grant } = await parts.redeem(caller, { productId, purchaseToken, target });
      const answer = { data: grantResource(grant) };
      return fresh ? created(answer) : ok(answer);
    },
  });
