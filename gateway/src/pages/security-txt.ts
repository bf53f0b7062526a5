/** Where to report a vulnerability (RFC 9116). */
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { LOCALES } from '@fitness/shared/kernel/i18n/translate.ts';
import type { FastifyInstance } from 'fastify';
import type { Dependencies } from '../dependencies.ts';

const PATH = '/.well-known/security.txt';
/** RFC 9116 recommends less than a year. */
const VALID_MS = 180 * DAY_MS;

export const addSecurityTxt = (
  app: FastifyInstance,
  { baseUrl, securityContact, clock }: Pick<Dependencies, 'baseUrl' | 'securityContact' | 'clock'>,
): void => {
  if (securityContact === undefined) return;
  app.get(PATH, async (_request, reply) => {
    const lines = [
      `Contact: ${securityContact}`,
      `Expires: ${new Date(clock.now().getTime() + VALID_MS).toISOString()}`,
      `Preferred-Languages: ${LOCALES.join(', ')}`,
      `Canonical: ${baseUrl}${PATH}`,
    ];
    return reply
      .type('text/plain; charset=utf-8')
      .header('cache-control', 'public, max-age=86400')
      .send(`${lines.join('\n')}\n`);
  });
};
