/** The start page at `/`, for browsers only. API clients get a 404. */

import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { message, notFound } from '@fitness/shared/kernel/error.ts';
import { type Locale, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { html } from '@fitness/shared/pages/html.ts';
import { languageLinks, localeOfPage } from '@fitness/shared/pages/languages.ts';
import { type Page, renderPage } from '@fitness/shared/pages/page.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Dependencies } from '../dependencies.ts';
import { areReady } from '../health/services-health.ts';
import { DELETION_PATH } from '../request/page-paths.ts';
import { OPENAPI_PATH } from './docs/routes.ts';
import { addTourScript, TOUR_SCRIPT, tourSection } from './tour/section.ts';

type StartPageDependencies = Pick<Dependencies, 'agents' | 'clock' | 'sandboxUrl' | 'urls'>;

/** Whether a browser asks for a page. */
export const asksForPage = ({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>): boolean =>
  (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.accept ?? '');
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** The page is public, so its requests share one status check of the services. */
const STATUS_VALID_MS = 5 * SECOND_MS;

export const addStartPage = (app: FastifyInstance, dependencies: StartPageDependencies): void => {
  const isUp = createStatus(dependencies);
  if (dependencies.sandboxUrl !== undefined) addTourScript(app);
  app.route({
    // Other methods return 404 instead of 405.
    method: METHODS,
    url: '/',
    exposeHeadRoute: false,
    onRequest: async (request, reply) => {
      reply.header('vary', 'Accept');
      if (!asksForPage(request)) throw notFound();
    },
    handler: async (request, reply) => {
      const page = startPage(localeOfPage(request), await isUp(), dependencies.sandboxUrl);
      return reply
        .headers({ ...page.headers, vary: 'Accept, Accept-Language' })
        .serializer(String)
        .send(page.html);
    },
  });
};

/** Whether all services are ready. Only operators see which service is not. */
const createStatus = ({ agents, clock, urls }: StartPageDependencies): (() => Promise<boolean>) => {
  let cached: { at: number; isUp: Promise<boolean> } | undefined;
  return () => {
    const now = clock.now().getTime();
    if (cached === undefined || now - cached.at > STATUS_VALID_MS) {
      cached = { at: now, isUp: areReady(agents.internal, urls) };
    }
    return cached.isUp;
  };
};

/** `sandboxUrl` is set in a demonstration, which adds the tour and the sample app to the page. */
const startPage = (locale: Locale, isUp: boolean, sandboxUrl: string | undefined): Page => {
  const t = translator(locale);
  const status = message(isUp ? 'start.status.up' : 'start.status.partial');
  const sandboxLinks =
    sandboxUrl !== undefined &&
    html`<li><a href="${sandboxUrl}/app?lang=${locale}">${t(message('start.sample'))}</a></li>
<li><a href="${sandboxUrl}">${t(message('start.sandbox'))}</a></li>`;
  const lead = html`<section class="card">
<p>${t(message('start.lead'))}</p>
<h2>${t(message('start.status'))}</h2>
<p><span class="badge ${isUp ? 'good' : 'waiting'}">${t(status)}</span></p>
</section>`;
  const links = html`<section class="card">
<h2>${t(message('start.developers'))}</h2>
<ul>
<li><a href="/docs" hreflang="en">${t(message('start.docs'))}</a></li>
<li><a href="${OPENAPI_PATH}">${t(message('start.openapi'))}</a></li>
${sandboxLinks}
</ul>
</section>
<section class="card">
<h2>${t(message('start.members'))}</h2>
<ul>
<li><a href="${DELETION_PATH}?lang=${locale}">${t(message('account_deletion.title'))}</a></li>
</ul>
</section>`;
  const frame = { locale, title: t(message('start.title')), aside: languageLinks(locale, '/') };
  if (sandboxUrl === undefined) return renderPage({ ...frame, body: html`${lead}${links}` });
  return renderPage({
    ...frame,
    width: 'wide',
    script: TOUR_SCRIPT,
    connectTargets: [new URL(sandboxUrl).origin],
    body: html`${lead}<div class="grid">${tourSection(locale, sandboxUrl)}<div class="stack">${links}</div></div>`,
  });
};
