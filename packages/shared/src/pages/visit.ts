/** The visit of a browser on a page, stored in one cookie that also protects the forms. The gateway stores nothing. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { type Clock, type Random, SECOND_MS } from '../kernel/clock.ts';

/** A guest also has a secret, from the first page on. It protects the sign-in form against CSRF. */
export type Visit = { kind: 'guest'; secret: string } | { kind: 'user'; token: string };
export type Guest = Extract<Visit, { kind: 'guest' }>;
export type SignedIn = Extract<Visit, { kind: 'user' }>;

interface VisitOptions {
  /** Path of the page and its cookie. */
  path: string;
  /** Lifetime since the last response that renewed the cookie. */
  lifetimeS: number;
  baseUrl: string;
}

export interface Visits {
  path: string;
  /** Returns undefined if the cookie is missing. */
  read(cookies: string | undefined): Visit | undefined;
  /** The `Set-Cookie` header that starts or renews the visit. */
  cookieOf(visit: Visit): string;
  /** The `Set-Cookie` header that ends any visit. */
  endingCookie: string;
  /** The CSRF token of the visit's forms. It does not reveal the cookie. */
  csrfOf(visit: Visit): string;
  isCsrfOf(visit: Visit, token: string): boolean;
  /** Encrypts a hidden field for the next step. The key comes from the cookie, so reading the value takes both the page and the cookie. */
  seal(visit: Visit, value: Sealed): string;
  /** Returns undefined if the field belongs to another visit or path, was changed, or is older than {@link SEALED_S}. */
  unseal(visit: Visit, field: string | undefined): Sealed | undefined;
}

type Sealed = Readonly<Record<string, string>>;

/** Time limit for the next step. */
const SEALED_S = 5 * 60;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const COOKIE = /^(guest|user)\.([A-Za-z0-9._~+/=-]{1,500})$/;

const cookieValue = (visit: Visit): string =>
  visit.kind === 'guest' ? `guest.${visit.secret}` : `user.${visit.token}`;

export const createVisits = (
  { path, lifetimeS, baseUrl }: VisitOptions,
  { clock, random }: { clock: Clock; random: Random },
): Visits => {
  // The prefix keeps other hosts of the domain from setting the cookie. Browsers require the path / with it.
  const isSecure = baseUrl.startsWith('https:');
  const name = `${isSecure ? '__Host-' : ''}${path.slice(1).replaceAll('-', '_')}`;
  const attributes = `Path=${isSecure ? '/; Secure' : path}; HttpOnly; SameSite=Strict`;
  const csrfOf: Visits['csrfOf'] = (visit) =>
    createHmac('sha256', cookieValue(visit)).update(path).digest('base64url');
  const keyOf = (visit: Visit): Buffer =>
    Buffer.from(hkdfSync('sha256', cookieValue(visit), '', `${path} next step`, 32));
  return {
    path,
    seal: (visit, value) => {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, keyOf(visit), nonce);
      const text = JSON.stringify({ value, until: clock.now().getTime() + SEALED_S * SECOND_MS });
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url');
    },
    unseal: (visit, field = '') => {
      const bytes = Buffer.from(field, 'base64url');
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv(CIPHER, keyOf(visit), bytes.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      try {
        const encrypted = bytes.subarray(NONCE_BYTES + TAG_BYTES);
        const text = Buffer.concat([decipher.update(encrypted), decipher.final()]).toString('utf8');
        const { value, until } = JSON.parse(text) as { value: Sealed; until: number };
        return clock.now().getTime() < until ? value : undefined;
      } catch {
        // The tag is wrong: the field was changed, or it belongs to another visit.
        return undefined;
      }
    },
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
    isCsrfOf: (visit, token) => {
      const expected = Buffer.from(csrfOf(visit));
      const actual = Buffer.from(token);
      return actual.length === expected.length && timingSafeEqual(actual, expected);
    },
  };
};
