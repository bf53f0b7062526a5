/** The API as typed functions, for Node 20 or later, browsers and React Native. */
import createFetchClient, { type Client as FetchClient, type Middleware } from 'openapi-fetch';
import { toApiError, unwrap } from './errors.ts';
import { IDEMPOTENT } from './generated/idempotent.ts';
import type { components, paths } from './generated/schema.ts';
import type { ListBody, ListPath, Query, Row } from './lists.ts';
import { createMethods, type Methods } from './methods.ts';
import { createSend, type Send, type SendOptions } from './retry.ts';

export {
  ApiError,
  ConflictError,
  type ErrorCode,
  NetworkError,
  RateLimitError,
  UnavailableError,
  unwrap,
  ValidationError,
} from './errors.ts';
export type { KnownErrorCode, KnownValues } from './generated/known-values.ts';
export type { paths } from './generated/schema.ts';
export type { ListPath } from './lists.ts';
export type { CallOptions, Methods } from './methods.ts';

/** Resources and bodies, by their names in the API document. */
export type Schemas = components['schemas'];

type Token = string | undefined;

/** A file in React Native, where it is not a `Blob`. */
export interface NativeFile {
  uri: string;
  name: string;
  type: string;
}

export interface UploadOptions {
  /** Default: the name of the `File`, else `file`. */
  filename?: string;
  signal?: AbortSignal;
}

export interface ClientOptions extends SendOptions {
  /** The origin, without `/api/v1`. */
  baseUrl: string;
  /** A function is called before each request. Use `onToken` to store a new token. */
  token?: Token | (() => Token | Promise<Token>);
  /** Called after `login`, and with `undefined` after `logout`. */
  onToken?: (token: Token) => void;
  /** Called when the API rejects the current token (401). The client has already dropped it: ask the user to log in. */
  onUnauthorized?: () => void;
  /** `Accept-Language` of every request, e.g. `fa`. */
  language?: string;
  fetch?: Send;
}

/** `GET`, `POST`, `PUT` and `DELETE` resolve with `{data, error, response}`. Without a response they reject with a `NetworkError`. */
export interface Client extends FetchClient<paths>, Methods {
  /** Later requests are made as this user. Rejects with a `ValidationError` for wrong credentials. */
  login(credentials: Schemas['PostAuthLoginRequest']): Promise<Schemas['SignedIn']>;
  /** Revokes the token. Later requests have none. */
  logout(): Promise<void>;
  /** Adds a file to a post, a gym, an account or a training service. Rejects with an `ApiError`. */
  upload(
    file: Blob | NativeFile,
    fields: Omit<Schemas['PostMediaRequest'], 'file'>,
    options?: UploadOptions,
  ): Promise<Schemas['MediaResponse']['data']>;
  /**
   * Iterates over all rows of a list. Each page is fetched when its first row is read. Rejects with an
   * `ApiError`.
   */
  list<Path extends ListPath>(path: Path, query?: Query<Path>): AsyncGenerator<Row<Path>, void, undefined>;
}

/** Routes that need no token. They would return 401 for an expired one. */
const WITHOUT_TOKEN: ReadonlySet<string> = new Set([
  '/api/v1/auth/login',
  '/api/v1/auth/register',
  '/api/v1/auth/forgot-password',
  '/api/v1/auth/reset-password',
]);

export const createClient = (options: ClientOptions): Client => {
  const { baseUrl, language, onToken, onUnauthorized } = options;
  const send: Send = options.fetch ?? ((request) => globalThis.fetch(request));
  let token = options.token;
  const setToken = (next: Token): void => {
    if (typeof token !== 'function') token = next;
    onToken?.(next);
  };

  const currentToken = async (): Promise<Token> => (typeof token === 'function' ? token() : token);

  const middleware: Middleware = {
    async onRequest({ request, schemaPath }) {
      const { headers } = request;
      if (!headers.has('authorization') && !WITHOUT_TOKEN.has(schemaPath)) {
        const current = await currentToken();
        if (current !== undefined) headers.set('authorization', `Bearer ${current}`);
      }
      if (!headers.has('idempotency-key') && IDEMPOTENT.has(`${request.method} ${schemaPath}`))
        headers.set('idempotency-key', newIdempotencyKey());
      if (language !== undefined && !headers.has('accept-language')) headers.set('accept-language', language);
    },
    async onResponse({ request, response }) {
      if (response.status !== 401) return;
      const current = await currentToken();
      // A 401 for an earlier token says nothing about the current one.
      if (current === undefined || request.headers.get('authorization') !== `Bearer ${current}`) return;
      setToken(undefined);
      onUnauthorized?.();
    },
  };

  const client = createFetchClient<paths>({
    baseUrl,
    // The API reads lists in a query as `type=a,b`.
    querySerializer: { array: { style: 'form', explode: false } },
    fetch: createSend(send, options),
  });
  client.use(middleware);

  const list: Client['list'] = (path, query) => rowsOf(client, path, query ?? {});
  return {
    ...client,
    ...createMethods(client.request as never, list as never),
    list,
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
    async upload(file, fields, { filename, signal } = {}) {
      const body = formOf(file, fields, filename);
      const init = {
        body: body as never,
        bodySerializer: () => body,
        ...(signal === undefined ? {} : { signal }),
      };
      return (await unwrap(client.POST('/api/v1/media', init))).data;
    },
  };
};

/** The fields precede the file, as the reference recommends. Invalid fields are reported before the file has arrived. */
const formOf = (file: Blob | NativeFile, fields: object, filename: string | undefined): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined && value !== null) form.append(name, String(value));
  // React Native accepts this object where other platforms need a Blob.
  if (!(file instanceof Blob)) form.append('file', file as never);
  else form.append('file', file, filename ?? (file as Partial<File>).name ?? 'file');
  return form;
};

async function* rowsOf<Path extends ListPath>(
  client: FetchClient<paths>,
  path: Path,
  query: object,
): AsyncGenerator<Row<Path>, void, undefined> {
  let cursor: string | null = null;
  do {
    const init = { params: { query: { ...query, ...(cursor === null ? {} : { cursor }) } } };
    // The types of openapi-fetch describe one path. ListBody describes what all lists share.
    const answer = client.GET(path as '/api/v1/majors', init);
    const page: ListBody = await unwrap(answer);
    yield* page.data as Row<Path>[];
    cursor = page.meta.next_cursor;
  } while (cursor !== null);
}

const KEY_BYTES = 16;

/** For callers that retry a request themselves, such as after a restart. A key must be unique, not secret. */
export const newIdempotencyKey = (): string => {
  const bytes = new Uint8Array(KEY_BYTES);
  // `crypto.randomUUID` is missing on pages without TLS, and all of `crypto` in React Native.
  const { crypto } = globalThis as Partial<Pick<typeof globalThis, 'crypto'>>;
  if (crypto !== undefined) crypto.getRandomValues(bytes);
  else for (let index = 0; index < KEY_BYTES; index += 1) bytes[index] = Math.floor(Math.random() * 256);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
};
