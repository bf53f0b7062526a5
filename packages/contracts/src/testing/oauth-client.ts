/** An OAuth client and its user's browser, in separate steps that a test can change. */
import { createHash, randomBytes } from 'node:crypto';
import { type Browser, type BrowserPage, createBrowser } from '@fitness/shared/testing/browser.ts';
import { OAUTH_PATHS } from '../oauth.ts';

export const REDIRECT_URI = 'http://127.0.0.1:7777/callback';

export interface JsonAnswer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: an answer under test has whatever shape it has
  body: any;
}

export interface Pkce {
  verifier: string;
  challenge: string;
}

export const createPkce = (): Pkce => {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
};

export type Params = Record<string, string | undefined>;

const withoutUndefined = (params: Params): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );

export interface Credentials {
  login: string;
  password: string;
  /** A code of the second factor. */
  totp?: string;
}

export interface Connected {
  clientId: string;
  accessToken: string;
  refreshToken: string;
  scope: string;
  expiresIn: number;
}

export type OauthClient = ReturnType<typeof createOauthClient>;

/** `headers` are sent with every request, e.g. the signed caller context. */
export const createOauthClient = (
  origin: string,
  headers: () => Promise<Record<string, string>> = async () => ({}),
) => {
  const answerOf = async (response: Response): Promise<JsonAnswer> => {
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text.startsWith('{') ? JSON.parse(text) : text,
    };
  };

  const postForm = async (path: string, params: Params): Promise<JsonAnswer> =>
    answerOf(
      await fetch(`${origin}${path}`, {
        method: 'POST',
        headers: { ...(await headers()), 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(withoutUndefined(params)).toString(),
      }),
    );

  const register = async (metadata: Record<string, unknown> = {}): Promise<JsonAnswer> =>
    answerOf(
      await fetch(`${origin}${OAUTH_PATHS.register}`, {
        method: 'POST',
        headers: { ...(await headers()), 'content-type': 'application/json' },
        body: JSON.stringify({ client_name: 'Test client', redirect_uris: [REDIRECT_URI], ...metadata }),
      }),
    );

  const newClient = async (metadata: Record<string, unknown> = {}): Promise<string> => {
    const { status, body } = await register(metadata);
    if (status !== 201) throw new Error(`registration: ${status} ${JSON.stringify(body)}`);
    return body.client_id;
  };

  const authorizeUrl = (params: Params): string => {
    const defaults = { response_type: 'code', redirect_uri: REDIRECT_URI, code_challenge_method: 'S256' };
    const query = new URLSearchParams(withoutUndefined({ ...defaults, ...params }));
    return `${OAUTH_PATHS.authorize}?${query.toString()}`;
  };

  const browse = (): Browser => createBrowser(origin, headers);

  /** From the authorization request to the consent page. */
  const signIn = async (browser: Browser, params: Params, person: Credentials): Promise<BrowserPage> => {
    const login = await browser.follow(await browser.get(authorizeUrl(params)));
    return browser.follow(await browser.submit(login, 'login', { ...person }));
  };

  /** All steps to an authorization code; returns the redirect with it. */
  const authorize = async (params: Params, person: Credentials): Promise<URL> => {
    const browser = browse();
    const consent = await signIn(browser, params, person);
    const { location } = await browser.follow(await browser.submit(consent, 'allow'));
    if (location === undefined) throw new Error(`no way back to the client: ${consent.html}`);
    return location;
  };

  const token = (params: Params): Promise<JsonAnswer> => postForm(OAUTH_PATHS.token, params);

  const exchange = (clientId: string, code: string, verifier: string, more: Params = {}) =>
    token({
      grant_type: 'authorization_code',
      client_id: clientId,
      code,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
      ...more,
    });

  const refresh = (clientId: string, refreshToken: string, more: Params = {}) =>
    token({ grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken, ...more });

  const revoke = (clientId: string, value: string) =>
    postForm(OAUTH_PATHS.revoke, { client_id: clientId, token: value });

  /** A code with its PKCE verifier and redirect URI. */
  const newCode = async (person: Credentials, params: Params = {}) => {
    const clientId = params.client_id ?? (await newClient());
    const { verifier, challenge } = createPkce();
    const back = await authorize({ ...params, client_id: clientId, code_challenge: challenge }, person);
    const code = back.searchParams.get('code');
    if (code === null) throw new Error(`no code: ${back.href}`);
    return { clientId, code, verifier };
  };

  const connect = async (person: Credentials, params: Params = {}): Promise<Connected> => {
    const { clientId, code, verifier } = await newCode(person, params);
    const { status, body } = await exchange(clientId, code, verifier);
    if (status !== 200) throw new Error(`token: ${status} ${JSON.stringify(body)}`);
    return {
      clientId,
      accessToken: body.access_token,
      refreshToken: body.refresh_token,
      scope: body.scope,
      expiresIn: body.expires_in,
    };
  };

  return {
    register,
    newClient,
    authorizeUrl,
    browse,
    signIn,
    authorize,
    token,
    exchange,
    refresh,
    revoke,
    newCode,
    connect,
    postForm,
  };
};
