/** Account deletion while a part of the product is down. */
import { describe, expect, test } from '@jest/globals';
import {
  type Account,
  api,
  arm,
  commit,
  eventually,
  expectStatus,
  newestCode,
  register,
  scheduleDeletion,
  smsOf,
  stack,
  tokenOf,
  untilCodesAreSent,
} from './support.ts';

const OWNERS = ['gyms', 'wallet', 'store-billing', 'content'];

describe('a killed blocker service', () => {
  test.each(OWNERS)(
    'both phases return 503 and schedule nothing while %s is down; the earlier code works afterwards',
    async (name) => {
      const product = stack();
      const account = await register();
      const armed = await register();
      expectStatus(await arm(armed), 200);
      const code = await newestCode(armed.phone);
      await product.kill(name);
      try {
        const answer = await arm(account);
        expect([answer.status, answer.body]).toEqual([503, { message: expect.any(String) }]);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(await smsOf(account.phone)).toHaveLength(0);
        expect((await commit(armed, code)).status).toBe(503);
      } finally {
        await product.start(name);
      }
      for (const { token } of [account, armed]) {
        const { user } = expectStatus(await api('GET', '/auth/me', { token }), 200).body;
        expect(user.deletion_scheduled_at).toBeNull();
      }
      // Other accounts check this, because each attempt uses the account's limit.
      await untilCodesAreSent();
      expect((await commit(armed, code)).status).toBe(202);
    },
  );
});

/** Waits for a notification and returns a function that reads all of them. */
const notified = async ({ username }: Account) => {
  const token = await tokenOf(username);
  const read = async () => expectStatus(await api('GET', '/notifications', { token }), 200).body.data;
  await eventually(async () => (await read()).length > 0);
  return read;
};

describe('deletion without the broker', () => {
  test('phase 1 returns 500 and phase 2 succeeds with one later notification while the broker is down', async () => {
    const product = stack();
    const [account, armed] = [await register(), await register()];
    expectStatus(await arm(armed), 200);
    const code = await newestCode(armed.phone);
    await product.stop('rabbitmq');
    try {
      expect((await commit(armed, code)).status).toBe(202);
      const answer = await arm(account);
      expect([answer.status, Object.keys(answer.body)]).toEqual([500, ['message']]);
      const { user } = expectStatus(await api('GET', '/auth/me', { token: account.token }), 200).body;
      expect(user.deletion_scheduled_at).toBeNull();
    } finally {
      await product.start('rabbitmq');
    }
    const read = await notified(armed);
    await untilCodesAreSent();
    // A later event has arrived, so a duplicate would have arrived too.
    const later = await register();
    await scheduleDeletion(later);
    await notified(later);
    expect(await read()).toHaveLength(1);
  });
});

describe('deletion without Redis', () => {
  test('the limit of 5 per minute is exact for 20 concurrent calls while Redis is down', async () => {
    const product = stack();
    const account = await register();
    await product.stop('redis');
    try {
      const wrong = { body: { current_password: 'wrong-password' } };
      const answers = await Promise.all(Array.from({ length: 20 }, () => arm(account, wrong)));
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([...Array(5).fill(422), ...Array(15).fill(429)]);
    } finally {
      await product.start('redis');
    }
  });
});

describe('a revoked token under load', () => {
  test('no request that starts after the 202 is admitted', async () => {
    const account = await register();
    expectStatus(await arm(account), 200);
    const code = await newestCode(account.phone);
    let scheduled = false;
    let stop = false;
    const letIn: number[] = [];
    const answered = { before: 0, after: 0 };
    const worker = async () => {
      while (!stop) {
        const startedAfter = scheduled;
        const { status } = await api('GET', '/auth/me', { token: account.token });
        answered[startedAfter ? 'after' : 'before'] += 1;
        if (startedAfter && status !== 401) letIn.push(status);
      }
    };
    const workers = Array.from({ length: 8 }, worker);
    try {
      await eventually(() => answered.before >= 40);
      expect((await commit(account, code)).status).toBe(202);
      scheduled = true;
      await eventually(() => answered.after >= 200);
    } finally {
      stop = true;
    }
    await Promise.all(workers);
    expect(letIn).toEqual([]);
  });

  test('a sign-in during the scheduling is revoked with the others or reports the pending deletion', async () => {
    const account = await register();
    expectStatus(await arm(account), 200);
    const code = await newestCode(account.phone);
    const [scheduled, ...logins] = await Promise.all([
      commit(account, code),
      ...Array.from({ length: 5 }, () => tokenOf(account.username)),
    ]);
    expect(scheduled.status).toBe(202);
    for (const token of logins) {
      const me = await api('GET', '/auth/me', { token });
      expect([200, 401]).toContain(me.status);
      if (me.status === 200)
        expect(me.body.user.deletion_scheduled_at).toBe(scheduled.body.deletion_scheduled_at);
    }
    expect((await api('GET', '/auth/me', { token: account.token })).status).toBe(401);
  });

  test('cancelling a deletion twice at once succeeds both times', async () => {
    const account = await register();
    await scheduleDeletion(account);
    const token = await tokenOf(account.username);
    const answers = await Promise.all([
      api('DELETE', '/auth/delete-account', { token }),
      api('DELETE', '/auth/delete-account', { token }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers.every(({ body }) => body.user.deletion_requested_at === null)).toBe(true);
  });
});
