/** What the tests of the authorization server share: a gateway's signature, and people with a password. */
import { CALLER_HEADER, GUEST } from '@fitness/shared/caller.ts';
import { testSigner } from '@fitness/shared/testing/harness.ts';
import { createOauthClient, type OauthClient } from '@fitness/shared/testing/oauth-client.ts';
import { join, joinAs, PASSWORD, type Person, type World } from './support.ts';

let visits = 0;

/** From an address of its own each time, so that no test spends another's budget. */
export const fromGateway = async (): Promise<Record<string, string>> => {
  visits += 1;
  return {
    [CALLER_HEADER]: await testSigner.sign({ from: 'gateway', caller: GUEST }),
    'x-client-address': `10.200.${(visits >> 8) & 255}.${visits & 255}`,
  };
};

export const oauthOf = (world: World): OauthClient => createOauthClient(world.url, fromGateway);

export type Resident = Person & { login: string; password: string };

export const resident = async (world: World, role?: Parameters<typeof joinAs>[1]): Promise<Resident> => {
  const person = role === undefined ? await join(world) : await joinAs(world, role);
  return { ...person, login: person.user.username, password: PASSWORD };
};
