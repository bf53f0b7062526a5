/** Paths and headers that the gateway and the services agree on. */

export const API_PREFIX = '/api/v1';
/** Prefix of routes that the gateway does not forward. */
export const INTERNAL_PREFIX = '/internal';
/** The client's IP address. The gateway sets it, and removes it from incoming requests. */
export const CLIENT_ADDRESS_HEADER = 'x-client-address';
/**
 * How long the caller waits for the response after it has sent the whole request, in milliseconds. The gateway sets
 * it, and removes it from incoming requests. It is a duration, because the clocks of two machines differ.
 */
export const REQUEST_TIMEOUT_HEADER = 'x-request-timeout';
/**
 * Prefix under which each route judges the headers of a request before the gateway reads the body: 204 if the
 * body decides.
 */
export const CHECK_PREFIX = '/internal/checks';
/**
 * Means that the route's limit was counted when the headers were checked. The gateway sets it and removes it from
 * incoming requests.
 */
export const LIMIT_COUNTED_HEADER = 'x-internal-limit-counted';
/** The route that has responded, for the log of the gateway. The gateway removes it from the response. */
export const ROUTE_HEADER = 'x-internal-route';
