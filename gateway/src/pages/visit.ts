/** Who a browser is on a page: one cookie, which is the key of its forms as well. The gateway stores nothing. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** A visitor has a secret of their own from the first page on, so that the log-in form is protected too. */
export type Visit = { kind: 'guest'; secret: string } | { kind: 'user'; token: string };
export type Guest = Extract<Visit, { kind: 'guest' }>;
export type SignedIn = Extract<Visit, { kind: 'user' }>;

interface VisitOptions {
  /** Of the page, and of the cookie. */
  path: string;
  /** Since the last answer that renewed it. */
  lifetimeS: number;
  baseUrl: string;
}

export interface Visits {
  path: string;
  /** Undefined without the cookie. */
  read(cookies: string | undefined): Visit | undefined;
  /** The `Set-Cookie` that begins or renews the visit. */
  cookieOf(visit: Visit): string;
  /** The `Set-Cookie` that ends every visit. */
  endingCookie: string;
  /** The hidden field of the visit's forms. The cookie cannot be computed from it. */
  csrfOf(visit: Visit): string;
  isCsrfOf(visit: Visit, given: string): boolean;
}

const COOKIE = /^(guest|user)\.([A-Za-z0-9._~+/=-]{1,500})$/;

const cookieValue = (visit: Visit): string =>
  visit.kind === 'guest' ? `guest.${visit.secret}` : `user.${visit.token}`;

export const createVisits = ({ path, lifetimeS, baseUrl }: VisitOptions): Visits => {
  const name = path.slice(1).replaceAll('-', '_');
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  const attributes = `Path=${path}; HttpOnly; SameSite=Strict${secure}`;
  const csrfOf: Visits['csrfOf'] = (visit) =>
    createHmac('sha256', cookieValue(visit)).update(path).digest('base64url');
  return {
    path,
    read: (cookies) => {
      const pairs = (cookies ?? '').split(';').map((pair) => pair.trim());
      const value = pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
      const [, kind, secret] = COOKIE.exec(value ?? '') ?? [];
      if (kind === undefined || secret === undefined) return undefined;
      return kind === 'guest' ? { kind, secret } : { kind: 'user', token: secret };
    },
    cookieOf: (visit) => `${name}=${cookieValue(visit)}; Max-Age=${lifetimeS}; ${attributes}`,
    endingCookie: `${name}=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; ${attributes}`,
    csrfOf,
    isCsrfOf: (visit, given) => {
      const expected = Buffer.from(csrfOf(visit));
      const actual = Buffer.from(given);
      return actual.length === expected.length && timingSafeEqual(actual, expected);
    },
  };
};
