/** Google Play's Android Publisher API for one-time products, and the OAuth endpoint that opens it. */
import { generateKeyPairSync } from 'node:crypto';
import formbody from '@fastify/formbody';
import { DAY_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Purchase } from '../state.ts';
import {
  asRecord,
  asText,
  findPurchase,
  type Harness,
  judgeCredential,
  type Provider,
  settledState,
} from '../wire.ts';

const SCOPE = 'https://www.googleapis.com/auth/androidpublisher';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_SECONDS = 3_599;
const ASSERTION_SECONDS = 3_600;
const VOIDED_WINDOW_MS = 30 * DAY_MS;
const VOIDED_PAGE = 1_000;
const ACCESS_TOKEN = /^ya29\.sandbox\.(\d+)$/;

const STATUS_NAMES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
};

interface Reason {
  /** The part of Google that refuses. */
  domain: 'global' | 'androidpublisher';
  reason: string;
  /** What is wrong: the name of a parameter or header. */
  location?: string;
  locationType?: 'parameter' | 'header';
}

function fail(reply: FastifyReply, code: number, message: string, reason: Reason): FastifyReply {
  const errors = [{ message, ...reason }];
  return reply.code(code).send({ error: { code, message, errors, status: STATUS_NAMES[code] } });
}

const notFound = (reply: FastifyReply) =>
  fail(reply, 404, 'The purchase token was not found.', {
    domain: 'androidpublisher',
    reason: 'purchaseTokenNotFound',
    location: 'token',
    locationType: 'parameter',
  });

const base64Json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    context.addIssue({ code: 'custom', message: 'not JSON in base64url' });
    return z.NEVER;
  }
});
const headerSchema = base64Json.pipe(z.object({ alg: z.literal('RS256') }));
const claimsSchema = base64Json.pipe(
  z
    .object({ iss: z.string().min(1), aud: z.string().min(1), scope: z.string(), iat: z.int(), exp: z.int() })
    .refine(({ iat, exp }) => exp > iat && exp - iat <= ASSERTION_SECONDS),
);

/**
 * The assertion's form is checked, not its signature (no public key is known here) and not its distance from now:
 * a product under test moves its own clock.
 */
function assertionProblem(assertion: string): 'invalid_grant' | 'invalid_scope' | null {
  const [header, payload, signature, ...rest] = assertion.split('.');
  if (!signature || rest.length > 0 || !headerSchema.safeParse(header).success) return 'invalid_grant';
  const claims = claimsSchema.safeParse(payload);
  if (!claims.success || judgeCredential(claims.data.iss) !== 'good') return 'invalid_grant';
  return claims.data.scope.split(' ').includes(SCOPE) ? null : 'invalid_scope';
}

/** The access token contains its expiry, so that it stays valid after a reset or restart of the sandbox. */
function refusedBearer(harness: Harness, request: FastifyRequest, reply: FastifyReply): boolean {
  const bearer = asText(request.headers.authorization).replace(/^Bearer /i, '');
  const expiresAt = Number(ACCESS_TOKEN.exec(bearer)?.[1] ?? 0) * SECOND_MS;
  if (judgeCredential(bearer) === 'refused') {
    fail(reply, 403, 'The current user has insufficient permissions to perform the requested operation.', {
      domain: 'androidpublisher',
      reason: 'permissionDenied',
    });
    return true;
  }
  if (expiresAt > harness.clock.now().getTime()) return false;
  fail(reply, 401, 'Request had invalid authentication credentials.', {
    domain: 'global',
    reason: 'authError',
    location: 'Authorization',
    locationType: 'header',
  });
  return true;
}

const orderIdOf = (purchase: Purchase) =>
  `GPA.${String(purchase.id)
    .padStart(17, '0')
    .replace(/^(\d{4})(\d{4})(\d{4})/, '$1-$2-$3-')}`;

const PURCHASE_STATE = { purchased: 0, canceled: 1, refunded: 1, pending: 2 } as const;

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
    quantity: 1,
    regionCode: 'IR',
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
  // The real list leaves out what is empty.
  return {
    ...(page.length > 0 ? { voidedPurchases: page } : {}),
    ...(end < all.length ? { tokenPagination: { nextPageToken: String(end) } } : {}),
  };
}

interface ProductParams {
  sku: string;
  token: string;
}

/** `{token}:acknowledge` and `{token}:consume`. Both may be repeated; consuming acknowledges too. */
async function act(
  harness: Harness,
  request: FastifyRequest<{ Params: ProductParams }>,
  reply: FastifyReply,
) {
  const parts = /^(.*):(acknowledge|consume)$/s.exec(request.params.token);
  if (!parts) return fail(reply, 404, 'Not found.', { domain: 'global', reason: 'notFound' });
  if (refusedBearer(harness, request, reply)) return reply;
  const wanted = { token: parts[1] ?? '', productId: request.params.sku };
  const purchase = await findPurchase(harness, request, reply, wanted);
  if (purchase === 'answered') return reply;
  if (purchase === 'not_found') return notFound(reply);
  if (settledState(purchase) !== 'purchased') {
    return fail(reply, 400, 'The product purchase is not owned by the user.', {
      domain: 'androidpublisher',
      reason: 'productNotOwnedByUser',
    });
  }
  purchase.acknowledged = true;
  if (parts[2] === 'consume') purchase.consumed = true;
  return reply.code(204).send();
}

async function mount(app: FastifyInstance, harness: Harness): Promise<void> {
  await app.register(formbody);

  app.post('/token', async (request, reply) => {
    const body = asRecord(request.body);
    if (body.grant_type !== GRANT) return reply.code(400).send({ error: 'unsupported_grant_type' });
    const problem = assertionProblem(asText(body.assertion));
    if (problem) {
      return reply.code(400).send({ error: problem, error_description: 'Invalid JWT assertion.' });
    }
    const expiresAt = Math.floor(harness.clock.now().getTime() / SECOND_MS) + TOKEN_SECONDS;
    return reply.send({
      access_token: `ya29.sandbox.${expiresAt}`,
      expires_in: TOKEN_SECONDS,
      token_type: 'Bearer',
    });
  });

  const purchases = '/androidpublisher/v3/applications/:package/purchases';

  app.get<{ Params: ProductParams }>(`${purchases}/products/:sku/tokens/:token`, async (request, reply) => {
    const { sku, token } = request.params;
    harness.state.countStoreCall(token);
    if (refusedBearer(harness, request, reply)) return reply;
    const purchase = await findPurchase(harness, request, reply, { token, productId: sku });
    if (purchase === 'answered') return reply;
    return purchase === 'not_found' ? notFound(reply) : reply.send(productPurchase(purchase));
  });

  app.post<{ Params: ProductParams }>(`${purchases}/products/:sku/tokens/:token`, (request, reply) =>
    act(harness, request, reply),
  );

  app.get(`${purchases}/voidedpurchases`, async (request, reply) => {
    if (refusedBearer(harness, request, reply)) return reply;
    const query = voidedQuery.safeParse(request.query);
    if (!query.success) {
      const location = String(query.error.issues[0]?.path[0] ?? '');
      return fail(reply, 400, 'Invalid Value', {
        domain: 'global',
        reason: 'invalid',
        location,
        locationType: 'parameter',
      });
    }
    return reply.send(listVoided(harness, query.data));
  });
}

let generatedKey: string | undefined;
/** The sandbox accepts any key, but the product requires a valid one. */
const privateKey = () => {
  generatedKey ??= generateKeyPairSync('rsa', { modulusLength: 2_048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
  return generatedKey;
};

export const googlePlay: Provider = {
  title: 'Google Play',
  prefix: '/google-play',
  environment: (base) => ({
    GOOGLE_PLAY_BASE_URL: base,
    GOOGLE_PLAY_TOKEN_URL: `${base}/token`,
    GOOGLE_PLAY_CLIENT_EMAIL: 'sandbox@example.com',
    GOOGLE_PLAY_PRIVATE_KEY: privateKey(),
  }),
  mount,
};
