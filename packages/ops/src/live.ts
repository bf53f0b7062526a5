/** Live changes of a page of `/ops`, as server-sent events. Each poll checks the session again, so a revoked session ends the stream. */
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import { sleep } from '@fitness/shared/kernel/timing.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Operator } from './operator.ts';
import { type Section, watcherOf } from './section.ts';

/** The section of a page. Throws 401 or 403 if the session has ended or may not see the section. */
type Look = () => Promise<{ operator: Operator; section: Section }>;

/** Maximum lifetime of a stream. The browser then reconnects, with the cookie if it still has one. */
const LIFETIME_MS = 60 * SECOND_MS;
const RETRY = 'retry: 2000\n\n';
/** A comment line reveals a lost connection. */
const UNCHANGED = ':\n\n';
const ENDED = 'event: ended\ndata:\n\n';

/** Returns a function that sends the changes of a page, and resolves when the stream has ended. */
export const createLiveStream = (app: FastifyInstance, pollMs: number) => {
  const open = new Set<FastifyReply['raw']>();
  app.addHook('preClose', async () => {
    for (const response of open) response.end();
  });
  return async (reply: FastifyReply, look: Look): Promise<void> => {
    // An error here still sets the status, because the stream has not started.
    let previous = await currentOf(await look());
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
      const { event, current } = await lookAgain(look, previous);
      raw.write(event);
      if (event === ENDED) break;
      previous = current;
    }
    if (!raw.writableEnded) raw.end();
  };
};

const currentOf = async ({ section, operator }: Awaited<ReturnType<Look>>): Promise<string | undefined> =>
  watcherOf(section)?.(operator);

const lookAgain = async (look: Look, previous: string | undefined) => {
  try {
    const seen = await look();
    const current = await currentOf(seen);
    if (current === undefined || current === previous) return { event: UNCHANGED, current: previous };
    const isReplaced = seen.section.isReplaced === true;
    const event = isReplaced ? `event: content\ndata: ${JSON.stringify(current)}` : 'event: changed\ndata:';
    return { event: `${event}\n\n`, current };
  } catch (error) {
    const hasEnded = isAppError(error) && (error.kind === 'unauthenticated' || error.kind === 'forbidden');
    return { event: hasEnded ? ENDED : UNCHANGED, current: previous };
  }
};
