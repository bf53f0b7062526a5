/** Myket's partner API: verify and consume. */
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

/** The two documented states are success and failure. A pending purchase is neither. */
const KNOWN_STATES = ['purchased', 'canceled', 'refunded'] as const;

function fail(reply: FastifyReply, status: number, messageCode: string, message: string): FastifyReply {
  return reply.code(status).send({ code: status, messageCode, translatedMessage: message });
}

const notFound = (reply: FastifyReply) => fail(reply, 404, 'PurchaseNotFound', 'خرید مورد نظر یافت نشد');

/** True after a refusal was sent because the access token is missing or invalid. */
function refusedToken(request: FastifyRequest, reply: FastifyReply): boolean {
  const verdict = judgeCredential(request.headers['x-access-token']);
  if (verdict === 'missing') fail(reply, 401, 'Unauthorized', 'توکن دسترسی ارسال نشده است');
  if (verdict === 'refused') fail(reply, 403, 'Forbidden', 'توکن دسترسی معتبر نیست');
  return verdict !== 'good';
}

async function mount(app: FastifyInstance, harness: Harness): Promise<void> {
  app.post<{ Params: { sku: string } }>(
    '/api/partners/applications/:package/purchases/products/:sku/verify',
    async (request, reply) => {
      const token = asText(asRecord(request.body).tokenId);
      harness.state.countStoreCall(token);
      if (refusedToken(request, reply)) return reply;
      if (!token) return fail(reply, 400, 'InvalidParameter', 'پارامتر tokenId الزامی است');
      const query = { token, productId: request.params.sku, states: KNOWN_STATES };
      const purchase = await findPurchase(harness, request, reply, query, () => notFound(reply));
      if (!purchase) return reply;
      return reply.send({
        kind: 'androidpublisher#productPurchase',
        purchaseTime: purchase.purchasedAt.getTime(),
        developerPayload: '',
        purchaseState: settledState(purchase) === 'purchased' ? 0 : 1,
        consumptionState: purchase.consumed ? 1 : 0,
      });
    },
  );

  app.put<{ Params: { sku: string; token: string } }>(
    '/api/partners/applications/:package/purchases/products/:sku/tokens/:token/consume',
    async (request, reply) => {
      if (refusedToken(request, reply)) return reply;
      const { sku, token } = request.params;
      const query = { token, productId: sku, states: ['purchased'] as const };
      const purchase = await findPurchase(harness, request, reply, query, () => notFound(reply));
      if (!purchase) return reply;
      if (purchase.consumed) return fail(reply, 400, 'SkuAlreadyConsumed', 'محصول پیش از این مصرف شده است');
      purchase.consumed = true;
      return reply.send({ code: 200, messageCode: 'Success', translatedMessage: 'محصول مصرف شد' });
    },
  );
}

export const myket: Provider = {
  prefix: '/myket',
  originalHosts: ['developer.myket.ir'],
  environment: (base) => ({
    MYKET_BASE_URL: `${base}/api/partners`,
    MYKET_ACCESS_TOKEN: 'sandbox',
  }),
  mount,
};
