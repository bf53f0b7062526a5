/** What a client that registers itself (RFC 7591) may say about itself: as little as the consent page needs. */

/** Loopback of the client's own machine, where a program waits for its answer (RFC 8252, 7.3). */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);
const MAX_REDIRECT_URIS = 10;
const MAX_URI_LENGTH = 2_000;
const MAX_NAME_LENGTH = 100;
const PRINTABLE_ASCII = /^[!-~]+$/;
/** With its slashes, and nobody before the host: a parser of addresses makes up for what is missing, a reader does not. */
const WRITTEN_OUT = /^https?:\/\/[^/?#@]+(?:[/?][^#]*)?$/i;
/** A name, or an address: what a content security policy can name, and nothing that goes on in it. */
const HOST = /^(?:[a-z\d](?:[a-z\d._-]*[a-z\d])?|\[[\da-f:]+\])$/;
/** Part of Persian spelling. */
const NON_JOINER = '\u200c';
/** Controls, and what turns the direction of a text or is not seen at all: a name must look like what it is. */
const INVISIBLE = /\p{C}|\p{Zl}|\p{Zp}/u;

/** All that is kept of a registration; the rest of what RFC 7591 knows is ignored, as it allows. */
export const CLIENT_METADATA = [
  'client_id',
  'client_id_issued_at',
  'client_name',
  'redirect_uris',
  'grant_types',
  'response_types',
  'token_endpoint_auth_method',
  'application_type',
] as const;

/**
 * Whether codes may be sent there: https, or plain http to the client's own machine. Compared literally later; only a
 * native client may name another port of its own machine (RFC 8252, 7.3).
 */
const isRedirectUri = (value: unknown): value is string => {
  if (typeof value !== 'string' || value.length > MAX_URI_LENGTH || !PRINTABLE_ASCII.test(value))
    return false;
  if (!WRITTEN_OUT.test(value) || value.includes('\\')) return false;
  const url = URL.parse(value);
  if (url === null || !HOST.test(url.hostname)) return false;
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && LOOPBACK_HOSTS.has(url.hostname);
};

/** Why a registration is refused, in the words of RFC 7591; undefined when it is not. */
export const refusalOf = (metadata: Record<string, unknown>): string | undefined => {
  const { redirect_uris: uris, client_name: name, token_endpoint_auth_method: method } = metadata;
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MAX_REDIRECT_URIS) {
    return `redirect_uris must have 1 to ${MAX_REDIRECT_URIS} members`;
  }
  if (!uris.every(isRedirectUri)) {
    return 'redirect_uris must be https, or http on 127.0.0.1, [::1] or localhost, without a fragment';
  }
  if (name !== undefined && !isClientName(name)) {
    return `client_name must be 1 to ${MAX_NAME_LENGTH} visible characters`;
  }
  if (method !== undefined && method !== 'none') return 'token_endpoint_auth_method must be none';
  return undefined;
};

const isClientName = (value: unknown): boolean => {
  if (typeof value !== 'string' || value.length > MAX_NAME_LENGTH) return false;
  const seen = value.replaceAll(NON_JOINER, '');
  return seen.trim() !== '' && !INVISIBLE.test(seen);
};
