/** Live changes of a page of `/ops`, as server-sent events. Each poll checks the session again, so a revoked session ends the stream. */
import { createHash } from 'node:crypto';
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import { sleep } from '@fitness/shared/kernel/timing.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Operator } from './operator.ts';
import { type Section, watcherOf } from './section.ts';

/** The section of a page. Throws 401 or 403 if the session has ended or may not see the section. */
type Look = () => Promise<{ operator: Operator; section: Section }>;

/** Maximum lifetime of a stream. The browser then reconnects, with the cookie if it still has one. */
const LIFETIME_MS = 60 * SECOND_MS;
/** Further streams of a session only poll: each ends at once, and the browser repeats it. */
const STREAMS_MAX = 4;
const RETRY_MS = 2 * SECOND_MS;
const ENDED = 'event: ended\ndata:\n\n';

/** Returns a function that sends the changes of a page, and resolves when the stream has ended. */
export const createLiveStream = (app: FastifyInstance, pollMs: number) => {
  /** The session of each open stream. */
  const open = new Map<FastifyReply['raw'], string>();
  app.addHook('preClose', async () => {
    for (const response of open.keys()) response.end();
  });
  return async ({ headers, query }: FastifyRequest, reply: FastifyReply, look: Look): Promise<void> => {
    // An error here still sets the status, because the stream has not started.
    const first = await look();
    let { event, id } = await changeSince(first, headers['last-event-id'] as string | undefined);
    const { raw } = reply;
    reply.hijack();
    const type = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' };
    raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...type });
    const session = first.operator.caller.tokenId;
    const streams = [...open.values()].filter((other) => other === session).length;
    const polls = (query as Fields).poll !== undefined || streams >= STREAMS_MAX;
    raw.write(`retry: ${polls ? pollMs : RETRY_MS}\n\n${event}`);
    if (!polls) open.set(raw, session);
    raw.once('close', () => open.delete(raw));
    const end = performance.now() + LIFETIME_MS;
    while (open.has(raw) && performance.now() < end) {
      await sleep(pollMs);
      if (!open.has(raw) || raw.writableEnded) return;
      ({ event, id } = await lookAgain(look, id));
      raw.write(event);
      if (event === ENDED) break;
    }
    if (!raw.writableEnded) raw.end();
  };
};

/** The id is that of the content, so that a browser that reconnects receives what has changed meanwhile. */
const changeSince = async (
  { section, operator }: Awaited<ReturnType<Look>>,
  previous: string | undefined,
) => {
  const content = await watcherOf(section)?.(operator);
  if (content === undefined) return { event: ':\n\n', id: previous };
  const id = createHash('sha256').update(content).digest('base64url');
  const isSame = previous === undefined || previous === id;
  const change = section.isReplaced
    ? `event: content\ndata: ${JSON.stringify(content)}`
    : 'event: changed\ndata:';
  return { event: isSame ? `id: ${id}\n\n` : `id: ${id}\n${change}\n\n`, id };
};

const lookAgain = async (look: Look, previous: string | undefined) => {
  try {
    return await changeSince(await look(), previous);
  } catch (error) {
    const hasEnded = isAppError(error) && (error.kind === 'unauthenticated' || error.kind === 'forbidden');
    return { event: hasEnded ? ENDED : ':\n\n', id: previous };
  }
};
