/** A hanging client's transaction holds a document of the account while phase 2 of delete-account runs. */
import { REQUEST_TIMEOUT_HEADER } from '@fitness/shared/http/gateway-protocol.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startSandbox } from '../../../sandbox/src/service.ts';
import { type Harness, join, PASSWORD, type Person, startHarness } from './support.ts';

let harness: Harness;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;

beforeAll(async () => {
  sandbox = await startSandbox({ port: 0 });
  harness = await startHarness({ KAVENEGAR_BASE_URL: `${sandbox.url}/kavenegar` });
});

afterAll(async () => {
  await harness.close();
  await sandbox.close();
});

const TIMEOUT_MS = 500;
/** The response comes by the deadline of the request; the rest allows for a busy machine. */
const BOUND_MS = 20_000;

const deleteAccount = (person: Person, body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  harness.send('POST', '/auth/delete-account', {
    as: person.caller,
    body: { current_password: PASSWORD, ...body },
    headers,
  });

const newestCode = async ({ user }: Person): Promise<string> => {
  const url = `${sandbox.url}/_sandbox/sms?receptor=${encodeURIComponent(user.phone)}`;
  const { data } = (await (await fetch(url)).json()) as { data: { code: string }[] };
  return data[0]?.code ?? '';
};

const scheduledAt = async (person: Person): Promise<unknown> =>
  (await harness.send('GET', '/auth/me', { as: person.caller })).body.user.deletion_scheduled_at;

test.each(['users', 'confirmation_codes'])(
  'while a document of %s is held, the deletion returns 503 in time and is never scheduled',
  async (collection) => {
    const person = await join(harness);
    expect((await deleteAccount(person, {})).status).toBe(200);
    const code = await newestCode(person);
    const orphan = await harness.database.startSession();
    orphan.startTransaction();
    const touched = await harness.database
      .collection(collection)
      .updateOne({ _id: person.id as never }, { $set: { touched: true } }, { session: orphan });
    expect(touched.matchedCount).toBe(1);
    const startedAt = performance.now();
    const answer = await deleteAccount(
      person,
      { confirmation_code: code },
      { [REQUEST_TIMEOUT_HEADER]: String(TIMEOUT_MS) },
    );
    expect([answer.status, answer.body]).toEqual([503, { message: expect.any(String) }]);
    expect(performance.now() - startedAt).toBeLessThan(BOUND_MS);
    await orphan.abortTransaction();
    await orphan.endSession();
    // A write that waited for the transaction would run before these.
    for (const name of ['Forugh', 'Simin'])
      expect(
        (await harness.send('PUT', '/auth/me', { as: person.caller, body: { first_name: name } })).status,
      ).toBe(200);
    expect(await scheduledAt(person)).toBeNull();
    expect((await deleteAccount(person, { confirmation_code: code })).status).toBe(202);
  },
);
