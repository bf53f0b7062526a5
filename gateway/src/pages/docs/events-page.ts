/** `/docs/events`: the events from the AsyncAPI document, with what a consumer does with each of them. */
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { breakable, type Html, html } from '@fitness/shared/pages/html.ts';
import type { AsyncApiDocument } from '../../api/asyncapi.ts';
import { contents, type DocsPage, inline } from './page.ts';

export const EVENTS_DOCUMENT_PATH = '/docs/events/asyncapi.json';

const eventOf = (
  { type, summary = '', advice = '', consumers = [] }: (typeof EVENTS)[number],
  { components }: AsyncApiDocument,
): Html => html`<section class="card" id="${type}">
<div class="stack tight">
<h2>${breakable(type)}</h2>
<p><strong>When it is published:</strong> ${inline(summary)}</p>
<p><strong>What to do:</strong> ${inline(advice)}</p>
<p class="quiet">${consumers.length === 0 ? 'No consumers' : `Consumers: ${consumers.join(', ')}`}</p>
</div>
<pre tabindex="0">${JSON.stringify(components.messages[type]?.payload.allOf[1], null, 2)}</pre>
</section>
`;

export const eventsPage = (document: AsyncApiDocument): DocsPage => ({
  path: '/docs/events',
  title: 'Events',
  sections: EVENTS.map(({ type, summary, advice }) => ({
    id: type,
    title: type,
    text: `${summary} ${advice}`,
  })),
  body: html`<p>The services publish these events over RabbitMQ, as CloudEvents 1.0 in JSON. The routing key is the type of the event. An
event may be delivered more than once: its ID stays the same.</p>
<p><a href="${EVENTS_DOCUMENT_PATH}">AsyncAPI 3 document</a></p>
${contents(EVENTS.map(({ type }) => ({ id: type, title: type })))}
${EVENTS.map((event) => eventOf(event, document))}`,
});
