import type { Page } from '@fitness/shared/pages/page.ts';
import type { FastifyReply } from 'fastify';

export const sendPage = (reply: FastifyReply, { status, headers, html }: Page): FastifyReply =>
  reply.code(status).headers(headers).send(html);
