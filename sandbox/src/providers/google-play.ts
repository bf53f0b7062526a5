/** Google Play's Android Publisher API for one-time products, and the OAuth endpoint that issues its access tokens. */
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Purchase } from '../state.ts';
import { findPurchase, type Harness, type Provider, settledState } from '../wire.ts';
import { googleOauth, serviceAccountKey } from './google-oauth.ts';

const oauth = googleOauth({
  scope: 'https://www.googleapis.com/auth/androidpublisher',
  tokenPrefix: 'ya29.sandbox.',
});
const VOIDED_WINDOW_MS = 30 * DAY_MS;
const VOIDED_PAGE = 1_000;

const STATUS_NAMES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
};

/** `domain` is the part of Google that refuses. `location` is the name of the wrong parameter or header. */
type Refusal = readonly [code: number, message: string, domain: string, reason: string, location?: string];

function fail(reply: FastifyReply, [code, message, domain, reason, location]: Refusal): FastifyReply {
  const locationType = location === 'Authorization' ? 'header' : 'parameter';
  const where = location === undefined ? {} : { location, locationType };
  const errors = [{ message, domain, reason, ...where }];
  return reply.code(code).send({ error: { code, message, errors, status: STATUS_NAMES[code] } });
}

const PUBLISHER = 'androidpublisher';
const OTHER_PRODUCT = 'The purchase token does not match the product ID.';
const NOT_OWNED = 'The product purchase is not owned by the user.';
const NOT_PERMITTED = 'The current user has insufficient permissions to perform the requested operation.';
const UNAUTHENTICATED = 'Request had invalid authentication credentials.';

const refusedToken = (harness: Harness, reply: FastifyReply, token: string) =>
  harness.state.purchases.has(token)
    ? fail(reply, [400, OTHER_PRODUCT, PUBLISHER, 'purchaseTokenDoesNotMatchProductId', 'token'])
    : // Google did not issue the token: here, any unknown one.
      fail(reply, [400, 'Invalid Value', 'global', 'invalid']);

/** True after a refusal was sent. */
function refusedBearer(harness: Harness, request: FastifyRequest, reply: FastifyReply): boolean {
  const verdict = oauth.judgeBearer(harness, request);
  if (verdict === 'refused') fail(reply, [403, NOT_PERMITTED, PUBLISHER, 'permissionDenied']);
  if (verdict === 'missing') fail(reply, [401, UNAUTHENTICATED, 'global', 'authError', 'Authorization']);
  return verdict !== 'good';
}

const orderIdOf = (purchase: Purchase) =>
  `GPA.${String(purchase.id)
    .padStart(17, '0')
    .replace(/^(\d{4})(\d{4})(\d{4})/, '$1-$2-$3-')}`;

const PURCHASE_STATE = { purchased: 0, canceled: 1, refunded: 1, pending: 2 } as const;

const PURCHASE_TYPE = { test: 0, promo: 1, rewarded: 2 } as const;

function productPurchase(purchase: Purchase) {
  return {
    kind: 'androidpublisher#productPurchase',
    purchaseTimeMillis: String(purchase.purchasedAt.getTime()),
    purchaseState: PURCHASE_STATE[settledState(purchase)],
    consumptionState: purchase.consumed ? 1 : 0,
    acknowledgementState: purchase.acknowledged ? 1 : 0,
    developerPayload: '',
    orderId: orderIdOf(purchase),
    purchaseToken: purchase.token,
    productId: purchase.productId,
    quantity: purchase.quantity,
    regionCode: 'IR',
    ...(purchase.purchaseType === null ? {} : { purchaseType: PURCHASE_TYPE[purchase.purchaseType] }),
    ...(purchase.accountId === null ? {} : { obfuscatedExternalAccountId: purchase.accountId }),
  };
}

function voidedPurchase(purchase: Purchase, voidedAt: Date) {
  return {
    kind: 'androidpublisher#voidedPurchase',
    purchaseToken: purchase.token,
    purchaseTimeMillis: String(purchase.purchasedAt.getTime()),
    voidedTimeMillis: String(voidedAt.getTime()),
    orderId: orderIdOf(purchase),
    voidedSource: 1,
    voidedReason: 1,
  };
}

const voidedQuery = z.object({
  startTime: z.coerce.number().int().optional(),
  endTime: z.coerce.number().int().optional(),
  maxResults: z.coerce.number().int().min(1).max(VOIDED_PAGE).default(VOIDED_PAGE),
  token: z.coerce.number().int().min(0).default(0),
});

function listVoided(harness: Harness, query: z.infer<typeof voidedQuery>) {
  const now = harness.clock.now().getTime();
  const from = Math.max(query.startTime ?? 0, now - VOIDED_WINDOW_MS);
  const to = query.endTime ?? now;
  const all = [...harness.state.purchases.values()]
    .flatMap((purchase) => (purchase.voidedAt ? [{ purchase, voidedAt: purchase.voidedAt }] : []))
    .filter(({ voidedAt }) => voidedAt.getTime() >= from && voidedAt.getTime() <= to)
    .sort((a, b) => a.voidedAt.getTime() - b.voidedAt.getTime());
  const end = query.token + query.maxResults;
  const page = all.slice(query.token, end).map((each) => voidedPurchase(each.purchase, each.voidedAt));
  // The real list omits empty fields.
  return {
    ...(page.length > 0 ? { voidedPurchases: page } : {}),
    ...(end < all.length ? { tokenPagination: { nextPageToken: String(end) } } : {}),
  };
}

interface ProductParams {
  sku: string;
  token: string;
}

/** `{token}:acknowledge` and `{token}:consume`. Both may be repeated. Consuming implies acknowledging. */
async function act(
  harness: Harness,
  request: FastifyRequest<{ Params: ProductParams }>,
  reply: FastifyReply,
) {
  const parts = /^(.*):(acknowledge|consume)$/s.exec(request.params.token);
  if (!parts) return fail(reply, [404, 'Not found.', 'global', 'notFound']);
  if (refusedBearer(harness, request, reply)) return reply;
  const query = { token: parts[1] ?? '', productId: request.params.sku };
  const refuse = () => refusedToken(harness, reply, query.token);
  const purchase = await findPurchase(harness, request, reply, query, refuse);
  if (!purchase) return reply;
  if (settledState(purchase) !== 'purchased')
    return fail(reply, [400, NOT_OWNED, PUBLISHER, 'productNotOwnedByUser']);
  purchase.acknowledged = true;
  if (parts[2] === 'consume') purchase.consumed = true;
  return reply.code(204).send();
}

async function mount(app: FastifyInstance, harness: Harness): Promise<void> {
  await oauth.mountToken(app, harness);

  const purchases = '/androidpublisher/v3/applications/:package/purchases';

  app.get<{ Params: ProductParams }>(`${purchases}/products/:sku/tokens/:token`, async (request, reply) => {
    const { sku, token } = request.params;
    harness.state.countStoreCall(token);
    if (refusedBearer(harness, request, reply)) return reply;
    const refuse = () => refusedToken(harness, reply, token);
    const purchase = await findPurchase(harness, request, reply, { token, productId: sku }, refuse);
    return purchase ? reply.send(productPurchase(purchase)) : reply;
  });

  app.post<{ Params: ProductParams }>(`${purchases}/products/:sku/tokens/:token`, (request, reply) =>
    act(harness, request, reply),
  );

  app.get(`${purchases}/voidedpurchases`, async (request, reply) => {
    if (refusedBearer(harness, request, reply)) return reply;
    const query = voidedQuery.safeParse(request.query);
    if (!query.success) {
      const location = String(query.error.issues[0]?.path[0] ?? '');
      return fail(reply, [400, 'Invalid Value', 'global', 'invalid', location]);
    }
    return reply.send(listVoided(harness, query.data));
  });
}

export const googlePlay: Provider = {
  prefix: '/google-play',
  originalHosts: ['androidpublisher.googleapis.com', 'oauth2.googleapis.com'],
  environment: (base) => ({
    GOOGLE_PLAY_BASE_URL: base,
    GOOGLE_PLAY_TOKEN_URL: `${base}/token`,
    GOOGLE_PLAY_CLIENT_EMAIL: 'sandbox@example.com',
    GOOGLE_PLAY_PRIVATE_KEY: serviceAccountKey(),
  }),
  mount,
};
