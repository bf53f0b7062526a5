/** Helpers for the tests of the authorization server: the gateway's signature, and users with a password. */
import { randomBytes } from 'node:crypto';
import {
  type Connected,
  createOauthClient,
  type OauthClient,
  type Params,
} from '@fitness/contracts/testing/oauth-client.ts';
import { DAY_MS, MINUTE_MS } from '@fitness/shared/kernel/clock.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { gatewayContext } from '@fitness/shared/testing/harness.ts';
import { expect } from '@jest/globals';
import { buildToken, grantKey, recordKey, TOKEN_ENTROPY_BYTES } from '../src/domain/token.ts';
import type { OauthRecord } from '../src/store/oauth.ts';
import { type Harness, isLive, join, joinAs, PASSWORD, type Person } from './support.ts';

let visits = 0;

/** Each request has its own client address, so that tests do not share a rate limit. */
export const fromGateway = async (): Promise<Record<string, string>> => {
  visits += 1;
  return {
    [CALLER_HEADER]: gatewayContext('identity'),
    'x-client-address': `10.200.${(visits >> 8) & 255}.${visits & 255}`,
  };
};

export const oauthOf = (harness: Harness): OauthClient => createOauthClient(harness.url, fromGateway);

export type OauthUser = Person & { login: string; password: string };

export const createOauthUser = async (
  harness: Harness,
  role?: Parameters<typeof joinAs>[1],
): Promise<OauthUser> => {
  const person = role === undefined ? await join(harness) : await joinAs(harness, role);
  return { ...person, login: person.user.username, password: PASSWORD };
};

export interface CodeCopies {
  newCode(person?: { id: number }): Promise<{ clientId: string; code: string; verifier: string }>;
  connect(person?: { id: number }): Promise<Pick<Connected, 'clientId' | 'accessToken' | 'refreshToken'>>;
}

/** Signs in once. Each code is a copy of the stored code and its grant, for any person, which costs less than the pages. */
export const copyCodes = async (harness: Harness, person: OauthUser): Promise<CodeCopies> => {
  const oauth = oauthOf(harness);
  const { clientId, code: original, verifier } = await oauth.newCode(person);
  const records = harness.database.collection<OauthRecord>('oauth_records');
  const code = await records.findOne({ _id: recordKey('AuthorizationCode', original) });
  const grant = await records.findOne({ grant_id: code?.grant_id ?? null, grant_number: { $gt: 0 } });
  if (code === null || grant === null) throw new Error('no code was stored');
  const newCode = async ({ id } = { id: person.id }) => {
    const copy = buildToken('code', randomBytes(TOKEN_ENTROPY_BYTES));
    const now = harness.clock.now().getTime();
    // The library compares the date in the payload with the time of the machine.
    const exp = Math.floor((Date.now() + MINUTE_MS) / 1_000);
    await records.insertMany([
      {
        ...{ ...grant, _id: grantKey(copy), grant_id: copy, user_id: id },
        grant_number: Math.floor(Math.random() * Number.MAX_SAFE_INTEGER),
        payload: JSON.stringify({ ...JSON.parse(grant.payload), accountId: String(id) }),
        expires_at: new Date(now + 365 * DAY_MS),
      },
      {
        ...{ ...code, _id: recordKey('AuthorizationCode', copy), grant_id: copy, user_id: id },
        payload: JSON.stringify({
          ...JSON.parse(code.payload),
          ...{ grantId: copy, accountId: String(id), exp },
        }),
        expires_at: new Date(now + MINUTE_MS),
      },
    ]);
    return { clientId, code: copy, verifier };
  };
  return {
    newCode,
    connect: async (of) => {
      const { status, body } = await oauth.exchange(clientId, (await newCode(of)).code, verifier);
      if (status !== 200) throw new Error(`token: ${status} ${JSON.stringify(body)}`);
      return { clientId, accessToken: body.access_token, refreshToken: body.refresh_token };
    },
  };
};

const connectOften = ({ connect }: CodeCopies, times: number) =>
  Promise.all(Array.from({ length: times }, () => connect()));

/** Uses two tokens that were issued for one at the same time. */
export const raceForOneChain = async (harness: Harness, codes: CodeCopies, races: number): Promise<void> => {
  const oauth = oauthOf(harness);
  const connected = await connectOften(codes, races);
  for (const { clientId, refreshToken, accessToken } of connected) {
    const one = await oauth.refresh(clientId, refreshToken);
    const other = await oauth.refresh(clientId, refreshToken);
    const answers = await Promise.all(
      [one, other].map(({ body }) => oauth.refresh(clientId, body.refresh_token)),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    expect(await isLive(harness, accessToken)).toBe(false);
  }
};

/** Uses a token twice at the same time. One race at a time, because many transactions may wait longer than one of them lives. */
export const raceForOneRefresh = async (
  harness: Harness,
  codes: CodeCopies,
  races: number,
): Promise<void> => {
  const oauth = oauthOf(harness);
  const connected = await connectOften(codes, races);
  const results: Awaited<ReturnType<OauthClient['refresh']>>[][] = [];
  for (const { clientId, refreshToken } of connected) {
    results.push(
      await Promise.all([oauth.refresh(clientId, refreshToken), oauth.refresh(clientId, refreshToken)]),
    );
  }
  expect(results.flat().filter(({ status }) => status !== 200)).toEqual([]);
  harness.clock.advance(60_000);
  for (const [index, answers] of results.entries()) {
    // The app keeps one of the two responses, whichever came last.
    const { clientId = '' } = connected[index] ?? {};
    const last = answers[index % 2]?.body;
    expect((await oauth.refresh(clientId, last.refresh_token)).status).toBe(200);
    expect(await isLive(harness, last.access_token)).toBe(true);
  }
};

/** Metadata that a client may send with its registration. */
export const METADATA_FIELDS: readonly string[] = [
  'redirect_uris',
  'client_name',
  'grant_types',
  'response_types',
  'application_type',
  'token_endpoint_auth_method',
  'contacts',
  'jwks',
  'jwks_uri',
  'subject_type',
  'id_token_signed_response_alg',
  'default_max_age',
  'default_acr_values',
  'initiate_login_uri',
  'post_logout_redirect_uris',
  'sector_identifier_uri',
  'scope',
  'client_id_issued_at',
  'client_secret_expires_at',
  'request_uris',
  'response_modes',
  'software_version',
  'software_statement',
  '__proto__',
  'constructor',
];

export const STRANGE_VALUES: readonly unknown[] = [
  null,
  0,
  true,
  '',
  'javascript:alert(1)',
  [],
  {},
  [null],
  [{}],
  ['\ud800'],
  '\u0000',
  { $ne: 1 },
];

/** Parameters of authorization requests that the server does not know, or whose value it ignores. */
export const IGNORED_PARAMETERS: readonly Params[] = [
  { nonce: 'n-1' },
  { max_age: '3600' },
  { max_age: '0' },
  { max_age: 'x' },
  { id_token_hint: 'x' },
  { acr_values: '1' },
  { claims_locales: 'fa' },
  { claims: '{' },
  { ui_locales: 'fa' },
  { display: 'popup' },
  { login_hint: 'sara' },
  { prompt: 'login consent' },
  { prompt: 'select_account' },
  { registration: '{}' },
  { request: 'eyJhbGciOiJub25lIn0.e30.' },
  { request_uri: 'https://stranger.example/request' },
  { authorization_details: '[]' },
  { web_message_uri: 'https://stranger.example' },
  { dpop_jkt: 'x' },
  { audience: 'x', access_type: 'offline', include_granted_scopes: 'true' },
  { response_mode: '', resource: '', prompt: '' },
  { scope: 'openid payments.view_own' },
  { scope: 'openid profile email offline_access payments.view_own' },
  { scope: 'payments.view_own something.unknown' },
  { scope: ' payments.view_own  payments.view_own' },
];
