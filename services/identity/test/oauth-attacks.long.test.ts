/** More races for refresh tokens, and every strange value of every field of a registration and parameter of a request. */
import { createPkce } from '@fitness/contracts/testing/oauth-client.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  type CodeCopies,
  copyCodes,
  createOauthUser,
  IGNORED_PARAMETERS,
  METADATA_FIELDS,
  type OauthUser,
  oauthOf,
  raceForOneChain,
  raceForOneRefresh,
  STRANGE_VALUES,
} from './oauth-support.ts';
import { type Harness, startHarness } from './support.ts';

let harness: Harness;
let person: OauthUser;
let codes: CodeCopies;
beforeAll(async () => {
  harness = await startHarness();
  person = await createOauthUser(harness);
  codes = await copyCodes(harness, person);
});
afterAll(() => harness.close());

test('two tokens issued for one never give two chains, in each of forty races', () =>
  raceForOneChain(harness, codes, 40));

test('two concurrent uses of a refresh token both succeed in forty races, and the app goes on', () =>
  raceForOneRefresh(harness, codes, 40));

test.each([...METADATA_FIELDS])('a registration with any value of %s returns 201 or 400', async (field) => {
  for (const value of STRANGE_VALUES) {
    const { status } = await oauthOf(harness).register(Object.fromEntries([[field, value]]));
    expect([field, value, [201, 400].includes(status)]).toEqual([field, value, true]);
  }
});

test.each([...IGNORED_PARAMETERS])('the parameters %j are ignored until the code is issued', async (more) => {
  const oauth = oauthOf(harness);
  const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
  const back = await oauth.authorize({ ...params, scope: 'payments.view_own', ...more }, person);
  expect([back.searchParams.get('error'), back.searchParams.get('code')]).toEqual([
    null,
    expect.stringMatching(/^fpc_/),
  ]);
});
