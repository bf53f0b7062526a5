/** `/docs/events`: the events of the services, from the AsyncAPI document, whose texts are English. */
import { message } from '@fitness/shared/kernel/error.ts';
import { type Locale, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { html } from '@fitness/shared/pages/html.ts';
import type { Page } from '@fitness/shared/pages/page.ts';
import type { AsyncApiDocument } from '../../api/asyncapi.ts';
import { docsPage, inline } from './page.ts';

export const eventsPage = (locale: Locale, { components }: AsyncApiDocument): Page => {
  const t = translator(locale);
  return docsPage(
    locale,
    '/docs/events',
    message('docs.events'),
    html`<p>${t(message('docs.events.lead'))}</p>
<p><a href="/docs/events/asyncapi.json">${t(message('docs.events.document'))}</a></p>
${Object.values(components.messages).map(({ name, summary, payload, 'x-consumers': consumers }) => {
  const services = consumers.join(', ');
  const text =
    consumers.length === 0
      ? message('docs.events.no_consumers')
      : message('docs.events.consumers', { services });
  return html`<section class="card" id="${name}">
<div class="stack tight">
<h2 lang="en" dir="ltr">${name}</h2>
<p lang="en" dir="ltr">${inline(summary)}</p>
<p class="quiet">${t(text)}</p>
</div>
<pre dir="ltr" tabindex="0">${JSON.stringify(payload.allOf[1], null, 2)}</pre>
</section>
`;
})}`,
  );
};
