/** The page at the root and its forms. Scripts and tests use the control routes. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import formbody from '@fastify/formbody';
import { addPageAssets } from '@fitness/shared/pages/assets.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { durationMs } from '../clock.ts';
import { receptorSchema } from '../control.ts';
import { PURCHASE_STATES, SMS_MODES, ZIBAL_MODES } from '../state.ts';
import { asRecord, asText, type Harness, type ProviderAddress } from '../wire.ts';
import { createChanges } from './changes.ts';
import { ADVANCES, type HomeProblem, LIVE_SCRIPT, renderHome } from './home.ts';
import { sendPage } from './send.ts';
import { localeOf } from './texts.ts';

const FORMS = '/_sandbox/page';
const TOKEN_BYTES = 18;
/** Routes that change nothing. The pages call some of them after every change. */
const QUIET_ROUTE = /^\/(?:$|app(?:$|\/)|assets\/|health\/|_sandbox\/page\/(?:changes|live\.js)$)/;

const emptyIsAbsent = (value: unknown): unknown => (value === '' ? undefined : value);

const smsModeForm = z.object({
  mode: z.enum(SMS_MODES),
  receptor: z.preprocess(emptyIsAbsent, receptorSchema.optional()),
});
const zibalModeForm = z.object({ mode: z.enum(ZIBAL_MODES) });
const clockForm = z.object({ advance: z.enum(ADVANCES) });
const purchaseForm = z.object({
  product_id: z.string().min(1).max(255),
  state: z.enum(PURCHASE_STATES),
  /** Omitted for a new purchase. */
  token: z.string().min(1).max(4_096).optional(),
});

/** A page of another site must not change anything. */
const refuseForeignForm = async ({ headers }: FastifyRequest): Promise<void> => {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw Object.assign(new Error('Forms of other sites are refused.'), { statusCode: 403 });
};

interface PagesOptions {
  /** Complete once the sandbox listens. */
  addresses: readonly ProviderAddress[];
}

export const addPages = async (
  app: FastifyInstance,
  harness: Harness,
  { addresses }: PagesOptions,
): Promise<void> => {
  const { state, clock } = harness;
  const changes = createChanges(app);
  app.addHook('onResponse', async (request) => {
    const { url = '' } = request.routeOptions;
    // The processes of the product long-poll here for an advance.
    const isWaiting = request.method === 'GET' && url === '/_sandbox/clock';
    if (!isWaiting && !QUIET_ROUTE.test(url)) changes.announce();
  });
  addPageAssets(app);

  const home = (request: FastifyRequest, reply: FastifyReply, problem?: HomeProblem) =>
    sendPage(reply, renderHome({ locale: localeOf(request), harness, addresses, problem }));
  app.get('/', async (request, reply) => home(request, reply));

  const script = readFileSync(new URL('./live.js', import.meta.url));
  app.get(LIVE_SCRIPT, async (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').header('cache-control', 'no-cache').send(script),
  );
  app.get(`${FORMS}/changes`, async (_request, reply) => changes.subscribe(reply));

  await app.register(async (forms) => {
    await forms.register(formbody);
    forms.addHook('onRequest', refuseForeignForm);
    const add = <T>(
      path: string,
      schema: z.ZodType<T>,
      anchor: string,
      act: (fields: T) => unknown,
    ): void => {
      forms.post(`${FORMS}/${path}`, async (request, reply) => {
        const fields = schema.safeParse(request.body ?? {});
        const locale = localeOf(request);
        if (!fields.success) {
          const isReceptor = fields.error.issues[0]?.path[0] === 'receptor';
          const { receptor, mode } = asRecord(request.body);
          const problem = isReceptor ? { receptor: asText(receptor), mode: asText(mode) } : 'other';
          return home(request, reply, problem);
        }
        await act(fields.data);
        return reply.redirect(`/?lang=${locale}${anchor}`, 303);
      });
    };
    add('sms-mode', smsModeForm, '#sms', ({ mode, receptor }) =>
      state.smsModes.choose(mode, receptor ?? null),
    );
    add('zibal-mode', zibalModeForm, '#payments', ({ mode }) => state.zibalModes.choose(mode, null));
    add('purchases', purchaseForm, '#purchases', ({ token, product_id, state: nextState }) => {
      const purchaseToken = token ?? `sandbox-${randomBytes(TOKEN_BYTES).toString('base64url')}`;
      state.putPurchase(purchaseToken, product_id, nextState);
    });
    if (harness.isFollowed)
      add('clock', clockForm, '#clock', ({ advance }) => clock.advance(durationMs(advance) ?? 0));
    add('forget', z.object({}), '', () => state.forget());
  });
};
