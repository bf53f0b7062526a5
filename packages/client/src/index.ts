/** The API as typed functions, for browsers and Node 20 or later. */
import createFetchClient, { type Client as FetchClient, type Middleware } from 'openapi-fetch';
import { toApiError } from './errors.ts';
import { IDEMPOTENT } from './generated/idempotent.ts';
import type { components, paths } from './generated/schema.ts';
import { type RetryOptions, type Send, withRetries } from './retry.ts';

export { ApiError, ConflictError, RateLimitError, UnavailableError, ValidationError } from './errors.ts';
export type { paths } from './generated/schema.ts';

/** The resources and bodies by their names in the API document. */
export type Schemas = components['schemas'];

type Token = string | undefined;

export interface ClientOptions extends RetryOptions {
  /** The origin, without `/api/v1`. */
  baseUrl: string;
  /** A function is asked before each request; what keeps the token then is told of another one by `onToken`. */
  token?: Token | (() => Token | Promise<Token>);
  /** Called after `login`, and with `undefined` after `logout`. */
  onToken?: (token: Token) => void;
  /** `Accept-Language` of every request, e.g. `fa`. */
  language?: string;
  fetch?: Send;
}

/** The lists: their pages have rows, and the cursor of the page after them. */
export type ListPath = {
  [Path in keyof paths]: paths[Path] extends { get: Answering<ListBody> } ? Path : never;
}[keyof paths];
interface ListBody {
  data: unknown[];
  meta: { next_cursor: string | null };
}
interface Answering<Body> {
  responses: { 200: { content: { 'application/json': Body } } };
}
type Row<Path extends ListPath> = paths[Path] extends { get: Answering<infer Body extends ListBody> }
  ? Body['data'][number]
  : never;
type Query<Path extends ListPath> = paths[Path] extends { get: { parameters: { query?: infer Given } } }
  ? Omit<NonNullable<Given>, 'page' | 'cursor'>
  : never;

/** `GET`, `POST`, `PUT` and `DELETE` answer `{data, error, response}` and throw only where there is no answer. */
export interface Client extends FetchClient<paths> {
  /** Later requests are made as this user. Rejects with a `ValidationError` for wrong credentials. */
  login(credentials: Schemas['PostAuthLoginRequest']): Promise<Schemas['SignedIn']>;
  /** Revokes the token; later requests have none. */
  logout(): Promise<void>;
  /** All rows of a list, page by page as they are asked for. Rejects with an `ApiError`. */
  list<Path extends ListPath>(path: Path, query?: Query<Path>): AsyncGenerator<Row<Path>, void, undefined>;
}

/** They are for callers without a token, and answer 401 to one that has expired. */
const WITHOUT_TOKEN: ReadonlySet<string> = new Set([
  '/api/v1/auth/login',
  '/api/v1/auth/register',
  '/api/v1/auth/forgot-password',
  '/api/v1/auth/reset-password',
]);

export const createClient = (options: ClientOptions): Client => {
  const { baseUrl, language, onToken } = options;
  const send: Send = options.fetch ?? ((request) => globalThis.fetch(request));
  let token = options.token;
  const setToken = (next: Token): void => {
    if (typeof token !== 'function') token = next;
    onToken?.(next);
  };

  const addHeaders: Middleware = {
    async onRequest({ request, schemaPath }) {
      const { headers } = request;
      if (!headers.has('authorization') && !WITHOUT_TOKEN.has(schemaPath)) {
        const current = typeof token === 'function' ? await token() : token;
        if (current !== undefined) headers.set('authorization', `Bearer ${current}`);
      }
      if (!headers.has('idempotency-key') && IDEMPOTENT.has(`${request.method} ${schemaPath}`))
        headers.set('idempotency-key', newIdempotencyKey());
      if (language !== undefined && !headers.has('accept-language')) headers.set('accept-language', language);
    },
  };

  const client = createFetchClient<paths>({
    baseUrl,
    // The API reads lists in a query as `type=a,b`.
    querySerializer: { array: { style: 'form', explode: false } },
    fetch: withRetries(send, options),
  });
  client.use(addHeaders);

  return {
    ...client,
    async login(credentials) {
      const signedIn = await unwrap(client.POST('/api/v1/auth/login', { body: credentials }));
      setToken(signedIn.token);
      return signedIn;
    },
    async logout() {
      const { response, error } = await client.POST('/api/v1/auth/logout');
      // After a 401 there is no session to end.
      if (!response.ok && response.status !== 401) throw toApiError(response, error);
      setToken(undefined);
    },
    list: (path, query) => rowsOf(client, path, query ?? {}),
  };
};

async function* rowsOf<Path extends ListPath>(
  client: FetchClient<paths>,
  path: Path,
  query: object,
): AsyncGenerator<Row<Path>, void, undefined> {
  let cursor: string | null = null;
  do {
    const init = { params: { query: { ...query, ...(cursor === null ? {} : { cursor }) } } };
    // The types of openapi-fetch are those of one path; what holds for all of them is ListBody.
    const answer = client.GET(path as '/api/v1/majors', init);
    const page: ListBody = await unwrap(answer);
    yield* page.data as Row<Path>[];
    cursor = page.meta.next_cursor;
  } while (cursor !== null);
}

interface Outcome {
  data?: unknown;
  error?: unknown;
  response: Response;
}

/** The data of an answer. Rejects with an `ApiError` for any other. */
export const unwrap = async <Given extends Outcome>(
  answer: Promise<Given>,
): Promise<Exclude<Given['data'], undefined>> => {
  const { data, error, response } = await answer;
  if (!response.ok) throw toApiError(response, error);
  return data as Exclude<Given['data'], undefined>;
};

/** For callers who repeat a request themselves, e.g. after a restart. */
export const newIdempotencyKey = (): string => {
  // `crypto.randomUUID` is missing on pages without TLS.
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
};
