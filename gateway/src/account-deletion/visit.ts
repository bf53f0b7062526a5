/** Who a browser is on the page: one cookie, which is the key of its forms as well. The gateway stores nothing. */
import { createHmac, timingSafeEqual } from 'node:crypto';

export const PAGE_PATH = '/account-deletion';

/** A visitor has a secret of their own from the first page on, so that the log-in form is protected too. */
export type Visit = { kind: 'guest'; secret: string } | { kind: 'user'; token: string };

const NAME = 'account_deletion';
/** Longer than a code is valid. */
const LIFETIME_S = 15 * 60;
const COOKIE = /^(guest|user)\.([A-Za-z0-9._~+/=-]{1,500})$/;

const cookieValue = (visit: Visit): string =>
  visit.kind === 'guest' ? `guest.${visit.secret}` : `user.${visit.token}`;

/** Undefined without the cookie. */
export const readVisit = (cookies: string | undefined): Visit | undefined => {
  const pairs = (cookies ?? '').split(';').map((pair) => pair.trim());
  const value = pairs.find((pair) => pair.startsWith(`${NAME}=`))?.slice(NAME.length + 1);
  const [, kind, secret] = COOKIE.exec(value ?? '') ?? [];
  if (kind === undefined || secret === undefined) return undefined;
  return kind === 'guest' ? { kind, secret } : { kind: 'user', token: secret };
};

const attributesFor = (baseUrl: string): string =>
  `Path=${PAGE_PATH}; HttpOnly; SameSite=Strict${baseUrl.startsWith('https:') ? '; Secure' : ''}`;

/** The `Set-Cookie` that begins or renews the visit. */
export const cookieOf = (visit: Visit, baseUrl: string): string =>
  `${NAME}=${cookieValue(visit)}; Max-Age=${LIFETIME_S}; ${attributesFor(baseUrl)}`;

/** The `Set-Cookie` that ends every visit. */
export const endingCookie = (baseUrl: string): string =>
  `${NAME}=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; ${attributesFor(baseUrl)}`;

/** The hidden field of the visit's forms. The cookie cannot be computed from it. */
export const csrfOf = (visit: Visit): string =>
  createHmac('sha256', cookieValue(visit)).update(PAGE_PATH).digest('base64url');

export const isCsrfOf = (visit: Visit, given: string): boolean => {
  const expected = Buffer.from(csrfOf(visit));
  const actual = Buffer.from(given);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
};
