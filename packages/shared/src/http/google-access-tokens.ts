/** Access tokens of a Google service account (RFC 7523): an assertion signed with its key is exchanged for one. */
import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { z } from 'zod';
import { type Clock, MINUTE_MS, SECOND_MS } from '../kernel/clock.ts';
import type { ProviderClient, ProviderResponse } from './provider-client.ts';

export interface ServiceAccount {
  tokenUrl: string;
  clientEmail: string;
  /** PEM of an RSA key. */
  privateKey: string;
}

/** `refused`: Google does not accept the account. Otherwise the next attempt may succeed. */
type AccessToken = { value: string } | { refused: boolean; detail: string };

export interface GoogleAccessTokens {
  /** Never rejects. One token serves until shortly before it expires; concurrent calls share one request. */
  get(): Promise<AccessToken>;
  /** Discards a token unless a newer one has replaced it. */
  discard(value: string): void;
}

interface AccessTokensDependencies {
  client: ProviderClient;
  /** The real time, because Google checks the dates of assertions. */
  realTime: Clock;
  /** The scope as a URL, from Google's documentation. */
  scope: string;
}

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ASSERTION_S = 3_600;
/** A token that expires sooner is no longer used. */
const TOKEN_MARGIN_MS = MINUTE_MS;
/** Google refuses an assertion with 400. Statuses that are not here say nothing about the key. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403]);

const tokenSchema = z.object({ access_token: z.string().min(1), expires_in: z.number().positive() });

export const createGoogleAccessTokens = (
  account: ServiceAccount,
  { client, realTime, scope }: AccessTokensDependencies,
): GoogleAccessTokens => {
  let current: { value: string; until: number } | undefined;
  let requesting: Promise<AccessToken> | undefined;

  const request = async (): Promise<AccessToken> => {
    const assertion = await signAssertion(account, scope, realTime.now());
    if (assertion === undefined) return { refused: true, detail: 'the private key cannot sign' };
    let answer: ProviderResponse;
    try {
      answer = await client.send({
        method: 'POST',
        url: account.tokenUrl,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ grant_type: GRANT_TYPE, assertion }).toString(),
      });
    } catch (error) {
      return { refused: false, detail: (error as Error).message };
    }
    const token = answer.status === 200 ? readToken(answer) : undefined;
    if (token === undefined) {
      const detail = `the token endpoint returned HTTP ${answer.status}`;
      return { refused: REFUSALS.has(answer.status), detail };
    }
    current = {
      value: token.access_token,
      until: realTime.now().getTime() + token.expires_in * SECOND_MS - TOKEN_MARGIN_MS,
    };
    return { value: current.value };
  };

  return {
    get: async () => {
      if (current !== undefined && realTime.now().getTime() < current.until) return { value: current.value };
      requesting ??= request().finally(() => {
        requesting = undefined;
      });
      return requesting;
    },
    discard: (value) => {
      if (current?.value === value) current = undefined;
    },
  };
};

const readToken = ({ text }: ProviderResponse): z.output<typeof tokenSchema> | undefined => {
  try {
    return tokenSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

/** Signed with RS256. Undefined when the key is no RSA key. */
const signAssertion = async (
  { clientEmail, privateKey, tokenUrl }: ServiceAccount,
  scope: string,
  now: Date,
): Promise<string | undefined> => {
  const issuedAt = Math.floor(now.getTime() / SECOND_MS);
  const claims = { iss: clientEmail, scope, aud: tokenUrl, iat: issuedAt, exp: issuedAt + ASSERTION_S };
  try {
    return await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .sign(createPrivateKey(privateKey));
  } catch {
    return undefined;
  }
};
