/** The list of sessions, and their revocation. */
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { DAY_MS, formatTimestamp, MINUTE_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { monitored, watchCommands } from '@fitness/shared/testing/commands.ts';
import { apiClient, eventually, testClient } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hashToken } from '../src/domain/token.ts';
import { startIdentity } from '../src/service.ts';
import {
  callerOf,
  type Harness,
  isLive,
  join,
  joinAs,
  logIn,
  newAddress,
  PASSWORD,
  type Person,
  startHarness,
} from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

interface Session {
  id: number;
  name: string | null;
  address: string | null;
  created_at: string;
  last_used_at: string;
  current: boolean;
  device: object | null;
}

const logInFrom = async (
  { user }: Person,
  headers: Record<string, string> = newAddress(),
): Promise<string> => {
  const body = { login: user.username, password: PASSWORD };
  const answer = await harness.send('POST', '/auth/login', { body, headers });
  expect(answer.status).toBe(200);
  return answer.body.token;
};
const list = (as: Person['caller'], query = '') => harness.send('GET', `/auth/sessions${query}`, { as });
const sessionsOf = async ({ caller }: Person): Promise<Session[]> => (await list(caller)).body.data;
const revoke = (as: Person['caller'], id: unknown) => harness.send('DELETE', `/auth/sessions/${id}`, { as });

describe('the list of sessions', () => {
  test('the list shows each session’s program and address, newest first, and marks the current one', async () => {
    const person = await join(harness);
    const headers = { 'user-agent': 'Fitness/3.2 (Android 15)', 'x-client-address': '192.0.2.77' };
    harness.clock.advance(5 * SECOND_MS);
    const token = await logInFrom(person, headers);
    const loggedInAt = formatTimestamp(harness.clock.now());
    const [newest, first, ...others] = await sessionsOf(person);
    expect(others).toEqual([]);
    expect(newest).toEqual({
      id: expect.any(Number),
      name: 'Fitness/3.2 (Android 15)',
      address: '192.0.2.77',
      created_at: loggedInAt,
      last_used_at: loggedInAt,
      current: false,
      device: null,
    });
    expect(first).toMatchObject({ created_at: person.user.created_at, current: true });
    expect(newest?.id).toBeGreaterThan(first?.id ?? 0);
    const seen = await list(await callerOf(harness, token));
    expect(seen.body.data.map(({ current }: Session) => current)).toEqual([true, false]);
  });

  test('the list of sessions has pages', async () => {
    const person = await join(harness);
    await logInFrom(person);
    const { body } = await list(person.caller, '?per_page=1');
    expect(body.meta).toMatchObject({ total: 2, per_page: 1, last_page: 2 });
    const next = await list(person.caller, `?per_page=1&cursor=${body.meta.next_cursor}`);
    expect(next.body.data).toEqual([expect.objectContaining({ current: true })]);
    expect(next.body.data[0].id).not.toBe(body.data[0].id);
  });

  test('the list has no personal tokens, no other users’ sessions and no expired sessions', async () => {
    const [person] = [await join(harness), await join(harness)];
    await harness.send('POST', '/auth/tokens', { as: person.caller, body: { name: 'script' } });
    harness.clock.advance(DAY_MS);
    const later = await logInFrom(person);
    expect(await sessionsOf(person)).toHaveLength(2);
    harness.clock.advance(29 * DAY_MS);
    try {
      expect((await list(await callerOf(harness, later))).body.data).toHaveLength(1);
    } finally {
      harness.clock.advance(-30 * DAY_MS);
    }
  });

  test('the list contains no credential: neither an id nor the stored hash is accepted', async () => {
    const person = await join(harness);
    const { text, body } = await list(person.caller);
    const hash = hashToken(person.token);
    for (const secret of [person.token, hash]) expect(text).not.toContain(secret);
    for (const wrong of [String(body.data[0].id), hash, `fps_${hash}`]) {
      expect(await isLive(harness, wrong)).toBe(false);
    }
  });
});

describe('ending a session', () => {
  test('ending another or this session takes effect at once, and a repeat returns 404', async () => {
    const person = await join(harness);
    const other = await logInFrom(person);
    const [newest, own] = await sessionsOf(person);
    const answer = await revoke(person.caller, newest?.id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect([await isLive(harness, other), await isLive(harness, person.token)]).toEqual([false, true]);
    expect((await revoke(person.caller, newest?.id)).status).toBe(404);
    expect((await revoke(person.caller, own?.id)).status).toBe(204);
    expect(await isLive(harness, person.token)).toBe(false);
  });

  test('another user’s session, an unknown id and a malformed id return the same 404', async () => {
    const [owner, other] = [await join(harness), await join(harness)];
    const [session] = await sessionsOf(owner);
    const created = await harness.send('POST', '/auth/tokens', { as: owner.caller, body: { name: 'x' } });
    const answers = [];
    for (const id of [session?.id, '999999999', 'abc', '0', '-1', '1.5']) {
      answers.push(await revoke(other.caller, id));
    }
    // A personal token is not a session, even if both have the same number.
    await harness.database
      .collection('tokens')
      .updateOne({ _id: hashToken(created.body.token) as never }, { $set: { token_number: 888_888_888 } });
    answers.push(await revoke(owner.caller, 888_888_888));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(404);
    expect([await isLive(harness, owner.token), await isLive(harness, created.body.token)]).toEqual([
      true,
      true,
    ]);
  });

  test('only a session can list and end sessions', async () => {
    const person = await join(harness);
    const [session] = await sessionsOf(person);
    for (const tokenKind of ['personal', 'restricted', 'oauth'] as const) {
      const as = { ...person.caller, tokenKind };
      expect([(await list(as)).status, (await revoke(as, session?.id)).status]).toEqual([403, 403]);
    }
    expect(await isLive(harness, person.token)).toBe(true);
  });
});

describe('an operator who ends the session of a member', () => {
  let operator: Person;
  beforeAll(async () => {
    operator = await joinAs(harness, 'operator');
  });
  const end = (person: Person, id: unknown, as = operator.caller) =>
    harness.send('DELETE', `/users/${person.id}/sessions/${id}`, { as });

  test('an operator ends one session of a member at once, with its device; a repeat returns 404', async () => {
    const person = await join(harness);
    const token = await logInFrom(person);
    const as = await callerOf(harness, token);
    const body = { token: 'push-token-of-a-lost-phone', platform: 'ios', locale: 'fa' };
    expect((await harness.send('POST', '/notifications/devices', { as, body })).status).toBe(201);
    const [newest] = await sessionsOf(person);
    const answer = await end(person, newest?.id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect([await isLive(harness, token), await isLive(harness, person.token)]).toEqual([false, true]);
    expect(await harness.database.collection('devices').countDocuments({ user_id: person.id })).toBe(0);
    expect((await end(person, newest?.id)).status).toBe(404);
  });

  test('an operator gets the same 404 for a session of another account and for unknown ids', async () => {
    const [owner, other] = [await join(harness), await join(harness)];
    const [session] = await sessionsOf(owner);
    const unknown = { ...owner, id: 999_999_999 };
    const answers = [await end(other, session?.id), await end(unknown, session?.id)];
    for (const id of ['999999999', 'abc', '0', '1.5']) answers.push(await end(owner, id));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([answers[0]?.status, await isLive(harness, owner.token)]).toEqual([404, true]);
  });

  test('ending a session requires users.update_any, and roles.manage for a colleague', async () => {
    const [member, colleague] = [await join(harness), await joinAs(harness, 'operator')];
    const administrator = await joinAs(harness, 'administrator');
    const [session] = await sessionsOf(member);
    const path = `/users/${member.id}/sessions/${session?.id}`;
    expect((await harness.send('DELETE', path)).status).toBe(401);
    const all = [...operator.caller.permissions].filter((name) => name !== 'users.update_any');
    const refused = [
      { ...operator.caller, permissions: new Set(all) },
      ...(['personal', 'restricted', 'oauth'] as const).map((tokenKind) => ({
        ...operator.caller,
        tokenKind,
      })),
      member.caller,
    ];
    for (const as of refused) expect((await end(member, session?.id, as)).status).toBe(403);
    for (const person of [colleague, administrator, operator]) {
      const [own] = await sessionsOf(person);
      expect((await end(person, own?.id)).status).toBe(403);
      expect(await isLive(harness, person.token)).toBe(true);
    }
    const [own] = await sessionsOf(colleague);
    expect((await end(colleague, own?.id, administrator.caller)).status).toBe(204);
    expect(await isLive(harness, member.token)).toBe(true);
  });
});

describe('three replicas', () => {
  const config = () => monitored(harness.config);
  let replicas: {
    send: Harness['send'];
    introspect: (token: string) => Promise<boolean>;
    close(): Promise<void>;
  }[];

  beforeAll(async () => {
    replicas = await Promise.all(
      [1, 2, 3].map(async () => {
        const service = await startIdentity(config(), { clock: harness.clock });
        const client = testClient('identity', grpcDefinitions.identity(), service.grpcAddress, {
          deadlineMs: 30_000,
        });
        return {
          send: apiClient('identity', service.url),
          introspect: (token: string) => isLive({ ...harness, identity: client }, token),
          close: async () => {
            client.close();
            await service.close();
          },
        };
      }),
    );
  });
  afterAll(() => Promise.all(replicas.map((replica) => replica.close())));

  test('three replicas refuse a session as soon as one of three concurrent requests has ended it', async () => {
    const person = await join(harness);
    for (let round = 0; round < 2; round += 1) {
      const token = await logInFrom(person);
      for (const replica of replicas) expect(await replica.introspect(token)).toBe(true);
      const [session] = await sessionsOf(person);
      let isEnded = false;
      const acceptedAfter: number[] = [];
      const watch = replicas.map(async ({ introspect }, index) => {
        for (let refusals = 0; refusals < 3; ) {
          const wasEnded = isEnded;
          const isAccepted = await introspect(token);
          if (isAccepted && wasEnded) acceptedAfter.push(index);
          if (!isAccepted) refusals += 1;
        }
      });
      const answers = await Promise.all(
        replicas.map(async ({ send }) => {
          const answer = await send('DELETE', `/auth/sessions/${session?.id}`, { as: person.caller });
          isEnded = true;
          return answer.status;
        }),
      );
      expect(answers.toSorted()).toEqual([204, 404, 404]);
      await Promise.all(watch);
      expect(acceptedAfter).toEqual([]);
    }
    expect(await sessionsOf(person)).toHaveLength(1);
  });

  test('three replicas record the use of a session once a minute, and no request waits for it', async () => {
    const person = await join(harness);
    const lastUse = async () => (await sessionsOf(person)).find(({ current }) => current)?.last_used_at;
    // Watches the commands of all replicas.
    const commands = watchCommands(harness.config.MONGODB_DATABASE);
    const before = await lastUse();
    const writes = async (work: () => Promise<unknown>): Promise<number> => {
      const sent = await commands.during(work);
      return sent.filter(({ name, collection }) => name === 'update' && collection === 'tokens').length;
    };
    const useOften = () =>
      Promise.all(
        replicas.flatMap(({ introspect }) => Array.from({ length: 10 }, () => introspect(person.token))),
      );

    harness.clock.advance(MINUTE_MS - SECOND_MS);
    expect(await writes(useOften)).toBe(0);
    expect(await lastUse()).toBe(before);

    harness.clock.advance(2 * SECOND_MS);
    const now = formatTimestamp(harness.clock.now());
    const sent = await writes(async () => {
      await useOften();
      await eventually(async () => (await lastUse()) === now);
    });
    expect(sent).toBeLessThanOrEqual(1);

    harness.clock.advance(MINUTE_MS - SECOND_MS);
    expect(await writes(useOften)).toBe(0);
    expect(await lastUse()).toBe(now);
  });

  test('recording the use of a session does not restore it after it was ended', async () => {
    const person = await join(harness);
    const token = await logInFrom(person);
    harness.clock.advance(2 * MINUTE_MS);
    const [session] = await sessionsOf(person);
    await Promise.all([
      ...replicas.map(({ introspect }) => introspect(token)),
      revoke(person.caller, session?.id),
    ]);
    await logIn(harness, person.user.username);
    expect(await isLive(harness, token)).toBe(false);
    expect(await harness.database.collection('tokens').countDocuments({ user_id: person.id })).toBe(2);
  });
});
