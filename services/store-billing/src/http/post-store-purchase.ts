import { boostSchema } from '@fitness/contracts/boost.ts';
import { subscriptionSchema } from '@fitness/contracts/subscription.ts';
import { created, defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import type { RateLimit } from '@fitness/shared/kernel/rate-limit.ts';
import { withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { toGrantResource } from '../app/grant-resource.ts';
import { CHANNEL_NAMES } from '../channels/index.ts';
import type { Catalogue } from '../domain/offer.ts';
import { isStoreToken } from '../domain/purchase.ts';
import { isTargetType, TARGET_TYPES, type Target } from '../domain/target.ts';
import type { UseCases } from '../use-cases.ts';

interface BodyOptions {
  catalogue: Catalogue;
  /** The only accepted channel. */
  channel: string;
}

export const REDEMPTIONS: RateLimit = { name: 'store-purchase', points: 10, windowS: 60 };
const MAX_SKU = 191;
const MAX_TOKEN = 255;
const BOOSTS_ONLY = 'Required for the SKU of a boost, ignored for premium';

type TargetField = 'boostable_type' | 'boostable_id';

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/**
 * The fields of the target are required for a boost SKU and ignored for premium. They are checked even when another
 * field is wrong, so the client gets all errors at once.
 */
const bodySchema = ({ catalogue, channel }: BodyOptions) => {
  const isBoost = (body: unknown): boolean => {
    const productId = field(body, 'product_id');
    return typeof productId === 'string' && catalogue.bySku(productId)?.kind === 'boost';
  };
  const has = (name: TargetField) => (body: unknown) => !isBoost(body) || !isAbsent(field(body, name));
  const isValid = (name: TargetField, check: (value: unknown) => boolean) => (body: unknown) =>
    !isBoost(body) || isAbsent(field(body, name)) || check(field(body, name));
  const at = (name: TargetField, text: ReturnType<typeof withMessage>) => ({
    path: [name] as PropertyKey[],
    when: () => true,
    ...text,
  });
  const targetTypeError = withMessage('validation.one_of', { values: TARGET_TYPES.join(', ') });
  return z
    .object({
      // The document lists every store, because it is the same for all installations.
      channel: z.enum([channel]).meta({
        enum: [...CHANNEL_NAMES],
        description:
          'App store that settled the purchase. An installation accepts one of them; another one returns 422.',
      }),
      product_id: z.string().min(1).max(MAX_SKU).meta({ description: 'SKU that was bought at the store' }),
      purchase_token: z
        .string()
        .min(1)
        .max(MAX_TOKEN)
        .refine(isStoreToken, withMessage('validation.invalid'))
        .meta({ description: 'Token of the purchase, as the SDK of the store returns it' }),
      boostable_type: z
        .unknown()
        .optional()
        .meta({
          type: 'string',
          enum: [...TARGET_TYPES],
          description: `Type of the target. ${BOOSTS_ONLY}.`,
        }),
      boostable_id: z
        .unknown()
        .optional()
        .meta({ type: 'integer', description: `Id of the gym or training service. ${BOOSTS_ONLY}.` }),
    })
    .refine(has('boostable_type'), at('boostable_type', withMessage('validation.required')))
    .refine(has('boostable_id'), at('boostable_id', withMessage('validation.required')))
    .refine(isValid('boostable_type', isTargetType), at('boostable_type', targetTypeError))
    .refine(
      isValid('boostable_id', Number.isSafeInteger),
      at('boostable_id', withMessage('validation.type.integer')),
    );
};

/** One object rather than a union, because no field distinguishes the two kinds. */
const grantSchema = z
  .object({
    ...subscriptionSchema.partial().shape,
    ...boostSchema.partial().shape,
    ...subscriptionSchema.pick({ id: true, starts_at: true, created_at: true }).shape,
  })
  .meta({
    id: 'StorePurchaseGrant',
    description:
      'What the purchase granted. A premium subscription has `user_id`, `type` and `expires_at`; a boost has `boostable_type`, ' +
      '`boostable_id`, `level` and `ends_at`.',
  });

export const postStorePurchaseRoute = (
  { redeemStorePurchase }: UseCases,
  { catalogue, channel }: BodyOptions,
): Route =>
  defineRoute({
    method: 'POST',
    path: '/payments/store-purchases',
    summary: 'Redeem an app-store purchase',
    description:
      'Grants what a settled app-store purchase has bought: a premium subscription for you, or a boost of a gym or training ' +
      'service. The purchase is verified with the store first. A new grant (201) adds a `store_purchase` to your payments, ' +
      'which does not affect the balance. Redeeming the same token again returns the same grant (200). Requires ' +
      '`payments.view_own`, and also `payments.buy_premium` for premium, `payments.boost_own` to boost your own target, or ' +
      '`payments.boost_all` to boost any target.\n\n' +
      'The store has already charged the user at the time of this request. Before you start a purchase at the store, check ' +
      'that no premium subscription of the user and no boost of the target is active.',
    tag: 'payments',
    access: 'user',
    permissions: ['payments.buy_premium', 'payments.boost_own', 'payments.boost_all'],
    audits: ['boost.buy'],
    alsoNeeds: ['payments.view_own'],
    limit: REDEMPTIONS,
    errorStyle: 'error_code',
    errorCodes: {
      400: [
        'store_purchase.premium_already_active',
        'store_purchase.boost_already_live',
        'store_purchase.verification_failed',
      ],
      404: ['store_purchase.not_found', 'store_purchase.target_not_found'],
      500: ['payments.provider_error', 'store_purchase.grant_failed'],
    },
    body: bodySchema({ catalogue, channel }),
    responses: {
      200: z.object({ data: grantSchema }),
      201: z.object({ data: grantSchema }),
    },
    handle: async ({ caller, body }) => {
      const { product_id: productId, purchase_token: purchaseToken } = body;
      const isBoost = catalogue.bySku(productId)?.kind === 'boost';
      const target = isBoost ? ({ type: body.boostable_type, id: body.boostable_id } as Target) : null;
      const { isNew, grant } = await redeemStorePurchase(caller, { productId, purchaseToken, target });
      const redeemed = { data: toGrantResource(grant) };
      return isNew ? created(redeemed) : ok(redeemed);
    },
  });
