/** Live changes of a page of `/ops`, as server-sent events. Each poll checks the session again, so a revoked session ends the stream. */
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import { sleep } from '@fitness/shared/kernel/timing.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Operator } from './operator.ts';
import { type Section, watcherOf } from './section.ts';

interface Watched {
  operator: Operator;
  section: Section;
}

/** Maximum lifetime of a stream. The browser then reconnects, with the cookie if it still has one. */
const LIFETIME_MS = 60 * SECOND_MS;
const RETRY = 'retry: 2000\n\n';

interface LiveStreams {
  /** Resolves when the stream has ended. `look` throws 401 or 403 if the session has ended or may not see the section. */
  stream(reply: FastifyReply, look: () => Promise<Watched>): Promise<void>;
}

export const createLiveStreams = (app: FastifyInstance, pollMs: number): LiveStreams => {
  const open = new Set<FastifyReply['raw']>();
  app.addHook('preClose', async () => {
    for (const response of open) response.end();
  });
  return {
    stream: async (reply, look) => {
      // An error here still sets the status, because the stream has not started.
      const first = await look();
      let previous = await watcherOf(first.section)?.(first.operator);
      const { raw } = reply;
      reply.hijack();
      const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' };
      raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...headers });
      raw.write(RETRY);
      open.add(raw);
      raw.once('close', () => open.delete(raw));
      const end = performance.now() + LIFETIME_MS;
      while (open.has(raw) && performance.now() < end) {
        await sleep(pollMs);
        if (!open.has(raw) || raw.writableEnded) return;
        const event = await lookAgain(look, previous);
        if (event.text !== '') raw.write(event.text);
        if (event.isLast === true) break;
        previous = event.previous;
      }
      if (!raw.writableEnded) raw.end();
    },
  };
};

interface Event {
  text: string;
  previous: string | undefined;
  isLast?: boolean;
}

const lookAgain = async (look: () => Promise<Watched>, previous: string | undefined): Promise<Event> => {
  try {
    const { operator, section } = await look();
    const current = await watcherOf(section)?.(operator);
    // A comment line reveals a lost connection.
    if (current === undefined || current === previous) return { text: ':\n\n', previous };
    const text =
      section.isReplaced === true
        ? `event: content\ndata: ${JSON.stringify(current)}\n\n`
        : 'event: changed\ndata:\n\n';
    return { text, previous: current };
  } catch (error) {
    const hasEnded = isAppError(error) && (error.kind === 'unauthenticated' || error.kind === 'forbidden');
    return hasEnded
      ? { text: 'event: ended\ndata:\n\n', previous, isLast: true }
      : { text: ':\n\n', previous };
  }
};
