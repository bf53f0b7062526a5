/** Cafe Bazaar's developer API, version 2. Paths end in a slash, as the real ones must. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  asRecord,
  asText,
  findPurchase,
  type Harness,
  judgeCredential,
  type Provider,
  settledState,
} from '../wire.ts';

/** This API has no pending state: the store does not know the purchase yet. */
const KNOWN_STATES = ['purchased', 'canceled', 'refunded'] as const;

function fail(reply: FastifyReply, status: number, error: string, description: string): FastifyReply {
  return reply.code(status).send({ error, error_description: description });
}

const notFound = (reply: FastifyReply) =>
  fail(reply, 404, 'not_found', 'The requested purchase is not found!');

/** True after a refusal was sent because the secret is missing or invalid. */
function refusedSecret(request: FastifyRequest, reply: FastifyReply): boolean {
  const verdict = judgeCredential(request.headers['cafebazaar-pishkhan-api-secret']);
  if (verdict === 'missing') fail(reply, 401, 'invalid_credentials', 'The API secret is missing.');
  if (verdict === 'refused') fail(reply, 403, 'invalid_credentials', 'The API secret is not valid.');
  return verdict !== 'good';
}

interface ValidateParams {
  sku: string;
  token: string;
}

async function mount(app: FastifyInstance, harness: Harness): Promise<void> {
  app.get<{ Params: ValidateParams }>(
    '/api/validate/:package/inapp/:sku/purchases/:token/',
    async (request, reply) => {
      const { sku, token } = request.params;
      harness.state.countStoreCall(token);
      if (refusedSecret(request, reply)) return reply;
      const query = { token, productId: sku, states: KNOWN_STATES };
      const purchase = await findPurchase(harness, request, reply, query, () => notFound(reply));
      if (!purchase) return reply;
      return reply.send({
        consumptionState: purchase.consumed ? 0 : 1,
        purchaseState: settledState(purchase) === 'purchased' ? 0 : 1,
        kind: 'androidpublisher#inappPurchase',
        developerPayload: '',
        purchaseTime: purchase.purchasedAt.getTime(),
      });
    },
  );

  app.post('/api/consume/:package/purchases/', async (request, reply) => {
    if (refusedSecret(request, reply)) return reply;
    const query = { token: asText(asRecord(request.body).token), states: ['purchased'] as const };
    const purchase = await findPurchase(harness, request, reply, query, () => notFound(reply));
    if (!purchase) return reply;
    if (purchase.consumed) return fail(reply, 400, 'already_consumed', 'The purchase is already consumed.');
    purchase.consumed = true;
    return reply.send({});
  });
}

export const cafebazaar: Provider = {
  prefix: '/cafebazaar/devapi/v2',
  originalHosts: ['pardakht.cafebazaar.ir'],
  environment: (base) => ({
    CAFEBAZAAR_BASE_URL: base,
    CAFEBAZAAR_API_SECRET: 'sandbox',
  }),
  mount,
};
