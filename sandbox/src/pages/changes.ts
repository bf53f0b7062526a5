/** Notifies open pages of changes with server-sent events. */
import type { FastifyInstance, FastifyReply } from 'fastify';

/** A burst of requests is sent as one event. */
export const PAUSE_MS = 200;

export interface Changes {
  /** Notifies the open pages after a short pause. */
  announce(): void;
  /** Keeps the response open until the page is closed. */
  subscribe(reply: FastifyReply): void;
}

export const createChanges = (app: FastifyInstance): Changes => {
  const open = new Set<FastifyReply['raw']>();
  let timer: NodeJS.Timeout | undefined;
  const send = (): void => {
    timer = undefined;
    for (const response of open) response.write('event: change\ndata:\n\n');
  };
  app.addHook('onClose', async () => clearTimeout(timer));
  return {
    announce: () => {
      if (open.size > 0) timer ??= setTimeout(send, PAUSE_MS);
    },
    subscribe: (reply) => {
      reply.hijack();
      const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };
      reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...headers });
      reply.raw.write('retry: 1000\n\n');
      open.add(reply.raw);
      reply.raw.once('close', () => open.delete(reply.raw));
    },
  };
};
