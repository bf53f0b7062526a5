/** Every way in which a request revokes credentials, as a client sees it. */
import { createOauthClient } from '@fitness/contracts/testing/oauth-client.ts';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { sleep } from '@fitness/shared/kernel/timing.ts';
import { totpOf } from '@fitness/shared/testing/totp.ts';
import {
  type Account,
  administratorToken,
  api,
  arm,
  baseUrl,
  commit,
  eventually,
  expectStatus,
  newestCode,
  PASSWORD,
  register,
  smsOf,
  tokenOf,
} from './support.ts';

interface Revocation {
  /** Tokens that are refused after the response. */
  tokens: string[];
  /** Resolves with the response status. */
  revoke(): Promise<number>;
}

export interface RevocationWay {
  name: string;
  /** The status that confirms the revocation. */
  status: number;
  prepare(): Promise<Revocation>;
}

const oauth = () => createOauthClient(baseUrl());
const credentials = ({ username }: Account) => ({ login: username, password: PASSWORD });
const statusOf = async (...call: Parameters<typeof api>): Promise<number> => (await api(...call)).status;

const personalToken = async ({ token }: Account): Promise<{ token: string; id: number }> => {
  const { body } = expectStatus(await api('POST', '/auth/tokens', { token, body: { name: 'x' } }), 201);
  return { token: body.token, id: body.data.id };
};

const beginSecondFactor = async ({ token }: Account): Promise<{ totp: string }> => {
  const body = { current_password: PASSWORD };
  const begun = expectStatus(await api('POST', '/auth/second-factor', { token, body }), 200).body;
  return { totp: totpOf(begun.secret, systemClock.now()) };
};

export const REVOCATION_WAYS: readonly RevocationWay[] = [
  {
    name: 'log-out',
    status: 204,
    prepare: async () => {
      const { token } = await register();
      return { tokens: [token], revoke: () => statusOf('POST', '/auth/logout', { token }) };
    },
  },
  {
    name: 'the end of another session',
    status: 204,
    prepare: async () => {
      const account = await register();
      const { token } = account;
      const other = await tokenOf(account.username);
      const { data } = expectStatus(await api('GET', '/auth/sessions', { token: other }), 200).body;
      const { id } = data.find(({ current }: { current: boolean }) => current);
      return { tokens: [other], revoke: () => statusOf('DELETE', `/auth/sessions/${id}`, { token }) };
    },
  },
  {
    name: 'the end of a personal token',
    status: 204,
    prepare: async () => {
      const account = await register();
      const { token, id } = await personalToken(account);
      const revoke = () => statusOf('DELETE', `/auth/tokens/${id}`, { token: account.token });
      return { tokens: [token], revoke };
    },
  },
  {
    name: 'the end of a grant to an app',
    status: 204,
    prepare: async () => {
      const account = await register();
      const { token } = account;
      const { accessToken } = await oauth().connect(credentials(account));
      const { data } = expectStatus(await api('GET', '/auth/grants', { token }), 200).body;
      const revoke = () => statusOf('DELETE', `/auth/grants/${data[0].id}`, { token });
      return { tokens: [accessToken], revoke };
    },
  },
  {
    name: 'a password change',
    status: 200,
    prepare: async () => {
      const account = await register();
      const tokens = [await tokenOf(account.username), (await personalToken(account)).token];
      const body = { current_password: PASSWORD, password: 'another good password' };
      const { token } = account;
      return { tokens, revoke: () => statusOf('PUT', '/auth/change-password', { token, body }) };
    },
  },
  {
    name: 'a password reset',
    status: 200,
    prepare: async () => {
      const account = await register();
      const { username: login } = account;
      expectStatus(await api('POST', '/auth/forgot-password', { body: { login } }), 200);
      const code = await eventually(async () => (await smsOf(account.phone))[0]?.code);
      const body = { login, code, password: 'another good password' };
      return { tokens: [account.token], revoke: () => statusOf('POST', '/auth/reset-password', { body }) };
    },
  },
  {
    name: 'a scheduled deletion',
    status: 202,
    prepare: async () => {
      const account = await register();
      const tokens = [account.token, (await personalToken(account)).token];
      expectStatus(await arm(account), 200);
      const code = await newestCode(account.phone);
      return { tokens, revoke: async () => (await commit(account, code)).status };
    },
  },
  {
    name: 'a new second factor',
    status: 200,
    prepare: async () => {
      const account = await register();
      const { token } = account;
      const tokens = [await tokenOf(account.username), (await personalToken(account)).token];
      const body = await beginSecondFactor(account);
      return { tokens, revoke: () => statusOf('POST', '/auth/second-factor', { token, body }) };
    },
  },
  {
    name: 'a second factor that an operator removes',
    status: 204,
    prepare: async () => {
      const account = await register();
      const body = await beginSecondFactor(account);
      expectStatus(await api('POST', '/auth/second-factor', { token: account.token, body }), 200);
      const token = await administratorToken();
      const revoke = () => statusOf('DELETE', `/users/${account.id}/second-factor`, { token });
      return { tokens: [account.token], revoke };
    },
  },
  {
    name: 'a session that an operator ends',
    status: 204,
    prepare: async () => {
      const account = await register();
      const token = await administratorToken();
      const path = `/users/${account.id}/sessions`;
      const [{ id }] = expectStatus(await api('GET', path, { token }), 200).body.data;
      return { tokens: [account.token], revoke: () => statusOf('DELETE', `${path}/${id}`, { token }) };
    },
  },
  {
    name: 'an account that an operator deletes',
    status: 204,
    prepare: async () => {
      const account = await register();
      const token = await administratorToken();
      return { tokens: [account.token], revoke: () => statusOf('DELETE', `/users/${account.id}`, { token }) };
    },
  },
  {
    name: 'an OAuth revocation',
    status: 200,
    prepare: async () => {
      const { clientId, accessToken } = await oauth().connect(credentials(await register()));
      return {
        tokens: [accessToken],
        revoke: async () => (await oauth().revoke(clientId, accessToken)).status,
      };
    },
  },
  {
    name: 'an OAuth refresh token that is used a third time',
    status: 400,
    prepare: async () => {
      const { clientId, accessToken, refreshToken } = await oauth().connect(credentials(await register()));
      const refreshed = await oauth().refresh(clientId, refreshToken);
      const repeated = await oauth().refresh(clientId, refreshToken);
      const revoke = async () => (await oauth().refresh(clientId, refreshToken)).status;
      return { tokens: [accessToken, refreshed.body.access_token, repeated.body.access_token], revoke };
    },
  },
];

/** A cheap public read, which also refuses an invalid token. */
const READ = '/api/v1/cities';

export const readStatus = async (origin: string, token: string): Promise<number> => {
  const answer = await fetch(`${origin}${READ}`, { headers: { authorization: `Bearer ${token}` } });
  await answer.arrayBuffer();
  return answer.status;
};

/** The statuses of `count` requests, with `atOnce` running concurrently. */
export const readMany = async (
  origins: readonly string[],
  tokens: readonly string[],
  count: number,
  atOnce: number,
): Promise<Map<number, number>> => {
  const statuses = new Map<number, number>();
  let sent = 0;
  const reader = async (): Promise<void> => {
    while (sent < count) {
      const [origin, token] = [origins[sent % origins.length], tokens[sent % tokens.length]];
      sent += 1;
      const status = await readStatus(origin ?? '', token ?? '');
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, reader));
  return statuses;
};

/** A pause that leaves the machine to the tested product. */
const PAUSE_MS = 10;

/** Reads with each token repeatedly, at each origin in turn, until stopped. */
export const keepReading = (origins: readonly string[], tokens: readonly string[]) => {
  let isOver = false;
  let revokedAt = Number.POSITIVE_INFINITY;
  const seen = { admitted: 0, refused: 0, late: [] as string[] };
  const reader = async (token: string): Promise<void> => {
    for (let time = 0; !isOver; time += 1) {
      const origin = origins[time % origins.length] ?? '';
      const startedAt = performance.now();
      const status = await readStatus(origin, token);
      if (status === 200) seen.admitted += 1;
      else if (status === 401) seen.refused += 1;
      if (status !== 401 && startedAt > revokedAt) seen.late.push(`${status} at ${origin}`);
      await sleep(PAUSE_MS);
    }
  };
  const readers = tokens.map(reader);
  return {
    seen,
    /** From now on, every new request is late if it is admitted. */
    revoked: (): void => {
      revokedAt = performance.now();
    },
    stop: async (): Promise<void> => {
      isOver = true;
      await Promise.all(readers);
    },
  };
};

/** Outcomes of a gateway's credential cache. */
export const cacheOutcomes = async (operationsUrl: string): Promise<Record<string, number>> => {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text();
  const rows = text.matchAll(/^credential_cache_total\{outcome="(\w+)"[^}]*\} (\d+)/gm);
  return Object.fromEntries([...rows].map(([, outcome, value]) => [outcome, Number(value)]));
};
