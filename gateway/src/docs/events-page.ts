/** `/docs/events`: the events of the services, from the AsyncAPI document. */
import type { AsyncApiDocument } from '../api/asyncapi.ts';
import { escapeHtml, inline, page } from './page.ts';

export const eventsPage = ({ info, components }: AsyncApiDocument): string => {
  const events = Object.values(components.messages).map((message) => {
    const consumers = message['x-consumers'];
    return `      <section id="${escapeHtml(message.name)}">
        <h2>${escapeHtml(message.name)}</h2>
        <p>${inline(message.summary)}</p>
        <p>Consumers: ${consumers.length === 0 ? 'none' : escapeHtml(consumers.join(', '))}</p>
        <pre>${escapeHtml(JSON.stringify(message.payload.allOf[1], null, 2))}</pre>
      </section>`;
  });
  return page(
    'Events',
    `      <p>${inline(info.description)}</p>
      <p><a href="/docs/events/asyncapi.json">As AsyncAPI 3</a></p>
${events.join('\n')}`,
  );
};
