/** A private document for its review. The media service checks the permissions of the operator and records the access. */
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { FastifyReply } from 'fastify';
import { call } from './call.ts';
import { idIn, type Operator } from './operator.ts';

const file = call('GET /media/{id}/{filename}');

const TYPES = new Set(['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'application/pdf']);

export const sendDocument = async (operator: Operator, reply: FastifyReply): Promise<FastifyReply> => {
  const id = idIn(operator.query.id);
  if (id === undefined) throw notFound();
  const { statusCode, headers, body } = await operator.download(file.pathOf({ id, filename: 'document' }));
  const type = String(headers['content-type']);
  if (statusCode !== 200 || !TYPES.has(type)) {
    await body.dump();
    throw notFound();
  }
  const disposition = headers['content-disposition'];
  return reply
    .headers({
      'content-type': type,
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'no-store',
      ...(typeof disposition === 'string' ? { 'content-disposition': disposition } : {}),
    })
    .send(body);
};
