/** `/docs/events`: the events from the AsyncAPI document. Its texts are English, and `DOCUMENT_TEXTS` contains the translations. */
import { message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { type Locale, translate, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { breakable, type Html, html } from '@fitness/shared/pages/html.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import type { AsyncApiDocument } from '../../api/asyncapi.ts';
import { DOCUMENT_TEXTS } from '../../api/document-texts.ts';
import { contents, docsPage, inline } from './page.ts';

/** The cast is safe because a test compares the catalogues with the events. */
const remedyOf = (type: string): MessageKey => `docs.events.remedy.${type}` as MessageKey;

export const eventsPage = (locale: Locale, { components }: AsyncApiDocument): Page => {
  const t = translator(locale);
  const whenOf = (type: string, summary: string): Html => {
    const own = DOCUMENT_TEXTS[locale]?.events[type];
    return own === undefined ? html`<span lang="en" dir="ltr">${inline(summary)}</span>` : inline(own);
  };
  return docsPage(
    locale,
    '/docs/events',
    message('docs.events'),
    html`<p>${t(message('docs.events.lead'))}</p>
<p><a href="/docs/events/asyncapi.json">${t(message('docs.events.document'))}</a></p>
${contents(
  locale,
  '/docs/events',
  Object.keys(components.messages).map((name) => ({ id: name, title: name })),
)}
${Object.values(components.messages).map(({ name, summary, payload, 'x-consumers': consumers }) => {
  const services = consumers.join(', ');
  const text =
    consumers.length === 0
      ? message('docs.events.no_consumers')
      : message('docs.events.consumers', { services });
  return html`<section class="card" id="${name}">
<div class="stack tight">
<h2 lang="en" dir="ltr">${breakable(name)}</h2>
<p><strong>${t(message('docs.events.when'))}:</strong> ${whenOf(name, summary)}</p>
<p><strong>${t(message('docs.errors.remedy'))}:</strong> ${inline(translate(locale, remedyOf(name)))}</p>
<p class="quiet">${t(text)}</p>
</div>
<pre dir="ltr" tabindex="0">${JSON.stringify(payload.allOf[1], null, 2)}</pre>
</section>
`;
})}`,
  );
};
