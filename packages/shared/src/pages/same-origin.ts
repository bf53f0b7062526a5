/** The first protection of a form against cross-site request forgery: what browsers say of the page that submitted it. */
import type { IncomingHttpHeaders } from 'node:http';
import { AppError, message } from '../kernel/error.ts';

/**
 * 403 for a form of another origin than that of `baseUrl`. The pages send no referrer, therefore browsers send `Origin: null`
 * with their forms.
 */
export const assertSameOrigin = (headers: IncomingHttpHeaders, baseUrl: string): void => {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isOurs = origin === undefined || origin === 'null' || origin === new URL(baseUrl).origin;
  if (isOurs && (site === undefined || site === 'same-origin')) return;
  throw new AppError({ kind: 'forbidden', code: 'cross_site', message: message('error.forbidden') });
};
