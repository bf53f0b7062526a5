/** Validates the metadata of dynamic client registration (RFC 7591). */

import { isOneLine } from '@fitness/shared/kernel/refinements.ts';

/**
 * Native clients receive the code on a loopback address (RFC 8252, 7.3). `localhost` is not recommended, but common (8.3).
 */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);
const MAX_REDIRECT_URIS = 10;
const MAX_URI_LENGTH = 2_000;
const MAX_NAME_LENGTH = 100;
const PRINTABLE_ASCII = /^[!-~]+$/;
/** Requires both slashes and no user information. `URL` accepts forms that people misread, such as `https:host`. */
const ABSOLUTE_URL = /^https?:\/\/[^/?#@]+(?:[/?][^#]*)?$/i;
/** A host name or IP address. Other characters could end the directive of the content security policy that names it. */
const HOST = /^(?:[a-z\d](?:[a-z\d._-]*[a-z\d])?|\[[\da-f:]+\])$/;
/** A private-use scheme (RFC 8252, 7.1). The path may follow one slash or a host. */
const PRIVATE_USE_URI = /^([a-z][a-z\d.-]*):\/[^#@]*$/;
/**
 * A domain name in reverse (RFC 8252, 8.4). It contains a period, unlike the schemes that browsers handle themselves
 * (`javascript`, `data`, `file`, `blob`, …). Other schemes are accepted only by name.
 */
const REVERSED_DOMAIN = /^[a-z][a-z\d]*(?:\.[a-z\d](?:[a-z\d-]*[a-z\d])?)+$/;
const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(?=[/?]|$)/;
/** The metadata that is stored. RFC 7591 allows the server to ignore other fields. */
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

/** https, http to a loopback address, or a private-use scheme: a reversed domain name, or one of `schemes`. */
const isRedirectUri = (value: unknown, schemes: readonly string[]): value is string => {
  if (typeof value !== 'string' || value.length > MAX_URI_LENGTH || !PRINTABLE_ASCII.test(value))
    return false;
  if (value.includes('\\')) return false;
  const url = URL.parse(value);
  if (url === null) return false;
  const scheme = privateUseSchemeOf(value);
  if (scheme !== undefined) return REVERSED_DOMAIN.test(scheme) || schemes.includes(scheme);
  if (!ABSOLUTE_URL.test(value) || !HOST.test(url.hostname)) return false;
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && LOOPBACK_HOSTS.has(url.hostname);
};

const privateUseSchemeOf = (value: string): string | undefined => {
  const scheme = PRIVATE_USE_URI.exec(value)?.[1];
  return scheme === 'http' || scheme === 'https' ? undefined : scheme;
};

export const isPrivateUse = (redirectUri: string): boolean => privateUseSchemeOf(redirectUri) !== undefined;

/** The only method: there are no client secrets. */
const PUBLIC_CLIENT = 'none' as const;
/** The lists of a registration, and the values that are offered. */
const OFFERED = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code' as const] };
export const CLIENT_DEFAULTS = { ...OFFERED, token_endpoint_auth_method: PUBLIC_CLIENT };

/**
 * Returns the metadata with what is offered. The server may replace what a client asks for, and its response says what is
 * registered (RFC 7591, 3.2.1). A list without any offered value is not changed, and is then refused.
 *
 * Redirect URIs lose those whose private-use scheme is neither a reversed domain name nor in `schemes`. A client that names such
 * a scheme besides a loopback address can use the latter. Any other invalid URI is a mistake that is reported.
 */
export const offeredMetadata = (
  metadata: Record<string, unknown>,
  schemes: readonly string[],
): Record<string, unknown> => {
  const isOffered = {
    redirect_uris: (uri: unknown) =>
      typeof uri !== 'string' || !isPrivateUse(uri) || isRedirectUri(uri, schemes),
    grant_types: (type: unknown) => OFFERED.grant_types.some((one) => one === type),
    response_types: (type: unknown) => OFFERED.response_types.some((one) => one === type),
  };
  const lists = Object.entries(isOffered).flatMap(([name, test]) => {
    const list = metadata[name];
    const offered = Array.isArray(list) ? list.filter(test) : [];
    return offered.length === 0 ? [] : [[name, offered]];
  });
  const isMethod = typeof metadata.token_endpoint_auth_method === 'string';
  return {
    ...metadata,
    ...Object.fromEntries(lists),
    ...(isMethod ? { token_endpoint_auth_method: PUBLIC_CLIENT } : {}),
  };
};

/**
 * Whether a request may name the redirect URI `requested`. It must equal a registered one. Only the port of a loopback
 * address may differ: a native client learns it when it starts to listen (RFC 8252, 7.3).
 */
export const isRegistered = (registered: readonly string[], requested: string): boolean => {
  if (registered.includes(requested)) return true;
  if (!LOOPBACK_PORT.test(requested) || !URL.canParse(requested)) return false;
  const withoutPort = (uri: string): string => uri.replace(LOOPBACK_PORT, '$1');
  return registered.some((uri) => withoutPort(uri) === withoutPort(requested));
};

/** The part of a redirect URI that the user is shown: its host or its private-use scheme. */
export const destinationOf = (redirectUri: string): string =>
  isPrivateUse(redirectUri) ? new URL(redirectUri).protocol : new URL(redirectUri).host;

/** Why a registration is refused, as RFC 7591's `error_description`; undefined when it is accepted. */
export const registrationError = (
  metadata: Record<string, unknown>,
  schemes: readonly string[],
): string | undefined => {
  const { redirect_uris: uris, client_name: name } = metadata;
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MAX_REDIRECT_URIS) {
    return `redirect_uris must have 1 to ${MAX_REDIRECT_URIS} members`;
  }
  if (!uris.every((uri) => isRedirectUri(uri, schemes))) {
    return 'redirect_uris must be https, http on 127.0.0.1, [::1] or localhost, or a private-use scheme such as com.example.app:/, without a fragment';
  }
  if (name !== undefined && !isClientName(name)) {
    return `client_name must be 1 to ${MAX_NAME_LENGTH} visible characters`;
  }
  return undefined;
};

const isClientName = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= MAX_NAME_LENGTH && value.isWellFormed() && isOneLine(value);
