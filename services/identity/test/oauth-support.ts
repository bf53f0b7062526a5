/** Helpers for the tests of the authorization server: the gateway's signature, and users with a password. */
import { createOauthClient, type OauthClient } from '@fitness/contracts/testing/oauth-client.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { gatewayContext } from '@fitness/shared/testing/harness.ts';
import { type Harness, join, joinAs, PASSWORD, type Person } from './support.ts';

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
