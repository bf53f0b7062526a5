/** The 404 page for browsers. Unknown API paths keep the JSON error that their clients expect. */
import { message } from '@fitness/shared/kernel/error.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { html } from '@fitness/shared/pages/html.ts';
import { languageLinks, localeOfPage } from '@fitness/shared/pages/languages.ts';
import { renderPage } from '@fitness/shared/pages/page.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { asksForPage } from './start-page.ts';

/** Returns false if the request gets no page: for other clients, and for paths below `/api`. */
export const sendMissingPage = (request: FastifyRequest, reply: FastifyReply): boolean => {
  const path = request.url.split('?')[0] ?? '';
  if (/^\/api(?:\/|$)/.test(path)) return false;
  reply.header('vary', 'Accept');
  if (!asksForPage(request)) return false;
  const locale = localeOfPage(request);
  const t = translator(locale);
  const page = renderPage({
    locale,
    status: 404,
    title: t(message('missing.title')),
    // One leading slash only: browsers read `//` as the start of another host.
    aside: languageLinks(locale, path.replace(/^\/*/, '/')),
    body: html`<section class="card">
<p>${t(message('error.not_found'))}</p>
<p><a href="/?lang=${locale}">${t(message('missing.start'))}</a></p>
</section>`,
  });
  reply
    .code(404)
    .headers({ ...page.headers, vary: 'Accept, Accept-Language' })
    .serializer(String)
    .send(page.html);
  return true;
};
