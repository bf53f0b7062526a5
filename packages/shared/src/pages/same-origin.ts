/** The first protection of a form against cross-site request forgery: the origin that the browser sends with it. */
import type { IncomingHttpHeaders } from 'node:http';
import { AppError, message } from '../kernel/error.ts';

/**
 * Throws 403 for a form from an origin other than that of `baseUrl`. The pages send no referrer, so browsers send
 * `Origin: null` with their forms.
 */
export const assertSameOrigin = (headers: IncomingHttpHeaders, baseUrl: string): void => {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isOurs = origin === undefined || origin === 'null' || origin === new URL(baseUrl).origin;
  if (isOurs && (site === undefined || site === 'same-origin')) return;
  throw new AppError({ kind: 'forbidden', code: 'cross_site', message: message('error.forbidden') });
};
