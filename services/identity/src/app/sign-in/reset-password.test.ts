import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { createBackgroundTasks } from '@fitness/shared/runtime/background-tasks.ts';
import { expect, test } from '@jest/globals';
import { createResetPassword, REQUESTS } from './reset-password.ts';

const SPENT_ADDRESS = '192.0.2.2';

/** Lookups wait until `release`. */
const openRequests = (atOnce: number, waiting: number) => {
  const backgroundTasks = createBackgroundTasks(createLog({ service: 'test', level: 'silent' }));
  const released = Promise.withResolvers<void>();
  const lookedUp: string[] = [];
  const findByLogin = async (login: string) => {
    lookedUp.push(login);
    await released.promise;
    return null;
  };
  const takeReset = {
    ofAddress: async (address: string) => address !== SPENT_ADDRESS,
    ofAccount: async () => true,
  };
  const dependencies = { store: { users: { findByLogin } }, takeReset, backgroundTasks };
  const { request } = createResetPassword(
    dependencies as unknown as Parameters<typeof createResetPassword>[0],
    { atOnce, waiting },
  );
  return {
    lookedUp,
    request: (login: string, clientAddress = '192.0.2.1') =>
      request(login, { caller: GUEST, locale: 'en', clientAddress }),
    release: async () => {
      released.resolve();
      await backgroundTasks.idle();
    },
  };
};

test('a few requests for codes are handled at once, and those beyond the queue succeed but are dropped', async () => {
  const { lookedUp, request, release } = openRequests(2, 3);
  for (let call = 1; call <= 8; call += 1) await request(`login.${call}`);
  expect(lookedUp).toEqual(['login.1', 'login.2']);
  await release();
  expect(lookedUp).toEqual(['login.1', 'login.2', 'login.3', 'login.4', 'login.5']);
  expect(REQUESTS).toEqual({ atOnce: 16, waiting: 200 });
});

test('requests beyond the limit of their address cause no lookup', async () => {
  const { lookedUp, request, release } = openRequests(2, 3);
  await request('login', SPENT_ADDRESS);
  await release();
  expect(lookedUp).toEqual([]);
});
