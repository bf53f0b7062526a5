/** What changes on a page of `/ops`, as server-sent events. Each look asks for the session again, so that a revoked one ends it. */
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import { sleep } from '@fitness/shared/kernel/timing.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Operator, Section } from './section.ts';

interface Watched {
  operator: Operator;
  section: Section;
}

/** Then the browser connects again, with the cookie if it still has it. */
const LIFETIME_MS = 60 * SECOND_MS;
const RETRY = 'retry: 2000\n\n';

interface LiveStreams {
  /** Resolves when the stream has ended. `look` throws 401 and 403 for a session that has ended. */
  stream(reply: FastifyReply, look: () => Promise<Watched>): Promise<void>;
}

export const createLiveStreams = (app: FastifyInstance, pollMs: number): LiveStreams => {
  const open = new Set<FastifyReply['raw']>();
  app.addHook('preClose', async () => {
    for (const response of open) response.end();
  });
  return {
    stream: async (reply, look) => {
      // Refused with a status, before the stream begins.
      const first = await look();
      let known = await first.section.watch?.(first.operator);
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
        const event = await lookAgain(look, known);
        if (event.text !== '') raw.write(event.text);
        if (event.isLast === true) break;
        known = event.known;
      }
      if (!raw.writableEnded) raw.end();
    },
  };
};

interface Event {
  text: string;
  known: string | undefined;
  isLast?: boolean;
}

const lookAgain = async (look: () => Promise<Watched>, known: string | undefined): Promise<Event> => {
  try {
    const { operator, section } = await look();
    const seen = await section.watch?.(operator);
    // A comment, so that a lost connection is noticed.
    if (seen === undefined || seen === known) return { text: ':\n\n', known };
    const text =
      section.isReplaced === true
        ? `event: content\ndata: ${JSON.stringify(seen)}\n\n`
        : 'event: changed\ndata:\n\n';
    return { text, known: seen };
  } catch (error) {
    const isOver = isAppError(error) && (error.kind === 'unauthenticated' || error.kind === 'forbidden');
    return isOver ? { text: 'event: ended\ndata:\n\n', known, isLast: true } : { text: ':\n\n', known };
  }
};
