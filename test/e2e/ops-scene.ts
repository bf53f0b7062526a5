/** An operator with a second factor, and the cases that wait for them. */
import { randomUUID } from 'node:crypto';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import { DAY_MS, HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { connectBroker } from '@fitness/shared/messaging/broker.ts';
import { deadLetterQueue, HEADER, serviceExchange } from '@fitness/shared/messaging/topology.ts';
import { totpOf } from '@fitness/shared/testing/totp.ts';
import { type Db, MongoClient } from 'mongodb';
import {
  type Account,
  administratorToken,
  api,
  baseUrl,
  deposit,
  expectStatus,
  PASSWORD,
  PNG,
  register,
  stack,
} from './support.ts';

export interface OpsOperator extends Account {
  /** Recovery codes, each for one log-in. */
  recoveryCodes: string[];
}

const ADMINISTRATOR_ROLE = 3;

export const newOperator = async (roleIds = [ADMINISTRATOR_ROLE]): Promise<OpsOperator> => {
  const account = await register();
  const body = { role_ids: roleIds };
  expectStatus(await api('PUT', `/users/${account.id}`, { token: await administratorToken(), body }), 200);
  const setUp = async (sent: object): Promise<{ secret: string; recovery_codes: string[] }> =>
    expectStatus(await api('POST', '/auth/second-factor', { token: account.token, body: sent }), 200).body;
  const { secret } = await setUp({ current_password: PASSWORD });
  const { recovery_codes: recoveryCodes } = await setUp({ totp: totpOf(secret, new Date()) });
  return { ...account, recoveryCodes };
};

const BANK_ACCOUNT = 'IR062960000000100324200001';

/** Creates a pending withdrawal and returns its id. */
export const pendingWithdrawal = async (amount = 20_000): Promise<number> => {
  const { token } = await register();
  const account = { bank_account_number: BANK_ACCOUNT, current_password: PASSWORD };
  expectStatus(await api('PUT', '/auth/me', { token, body: account }), 200);
  await deposit(token, amount);
  return expectStatus(await api('POST', '/payments/withdrawals', { token, body: { amount } }), 201).body
    .payment.id;
};

const uploadDocument = async (
  { token }: Account,
  fields: Readonly<Record<'attachable_type' | 'attachable_id' | 'purpose', string>>,
  image: Buffer<ArrayBuffer> = PNG as Buffer<ArrayBuffer>,
): Promise<number> => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([image]), 'license.png');
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${baseUrl()}/api/v1/media`, { method: 'POST', headers, body: form });
  if (response.status !== 201) throw new Error(`upload: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { data: { id: number } }).data.id;
};

export const uploadLicense = (owner: Account, gymId: number, image?: Buffer<ArrayBuffer>): Promise<number> =>
  uploadDocument(
    owner,
    { attachable_type: MODEL.gym, attachable_id: String(gymId), purpose: 'gym_license' },
    image,
  );

export const uploadTrainerLicense = (trainer: Account, image?: Buffer<ArrayBuffer>): Promise<number> =>
  uploadDocument(
    trainer,
    { attachable_type: MODEL.user, attachable_id: String(trainer.id), purpose: 'trainer_license' },
    image,
  );

export const gymWithLicense = async (
  image?: Buffer<ArrayBuffer>,
): Promise<{ owner: Account; gymId: number; mediaId: number }> => {
  const owner = await register();
  const body = { name: 'Iron House', address: 'Tehran', location_lat: 35.7, location_lng: 51.4 };
  const gymId = expectStatus(await api('POST', '/gyms', { token: owner.token, body }), 201).body.gym.id;
  return { owner, gymId, mediaId: await uploadLicense(owner, gymId, image) };
};

/** Creates a disputed deposit in the database, because the sandbox accepts every order. Returns its id. */
export const disputedDeposit = async (token: string): Promise<number> => {
  const opened = await api('POST', '/payments/deposit', { token, body: { amount: 1_000 } });
  const { id } = expectStatus(opened, 201).body.payment;
  const reported = {
    amount_rial: 5_000,
    order_id: '1',
    ref_number: '754774408',
    card_number: '627412******4444',
    paid_at: null,
  };
  const dispute = { 'gateway.state': 'mismatch', 'gateway.check_at': null, 'gateway.reported': reported };
  await inDatabaseOf('wallet', (database) =>
    database.collection<{ _id: number }>('payments').updateOne({ _id: id }, { $set: dispute }),
  );
  return id;
};

/** Moves a payment into the past, because the clock of the product cannot be set. */
const moveBack = (id: number, byMs: number): Promise<unknown> =>
  inDatabaseOf('wallet', (database) =>
    database
      .collection<{ _id: number }>('payments')
      .updateOne({ _id: id }, { $set: { created_at: new Date(Date.now() - byMs) } }),
  );

/** Lets the first withdrawal of the list miss its deadline. */
export const lateWithdrawal = async (): Promise<void> => {
  const list = '/payments?type=withdrawal&is_done=false&rejected=false&order=ASC&per_page=1';
  const { data } = expectStatus(await api('GET', list, { token: await administratorToken() }), 200).body;
  await moveBack(data[0].id, 3 * DAY_MS);
};

/** Makes deposits, and moves each one further into the past by two hours. */
export const depositsOverHours = async ({ token }: Account, amounts: readonly number[]): Promise<void> => {
  for (const amount of amounts) await deposit(token, amount);
  const { data } = expectStatus(await api('GET', '/payments?type=deposit', { token }), 200).body;
  await Promise.all(data.map(({ id }: { id: number }, index: number) => moveBack(id, index * 2 * HOUR_MS)));
};

/** Creates a member with something in every section of their page. */
export const busyMember = async (operatorToken: string): Promise<Account & { pushToken: string }> => {
  const member = await register({ first_name: 'Sara', last_name: 'Ahmadi' });
  const { id, token } = member;
  const send = async (method: string, path: string, body: object, status: number): Promise<void> => {
    expectStatus(await api(method, path, { token, body }), status);
  };
  const pushToken = `push-${randomUUID()}`;
  const account = { bank_account_number: BANK_ACCOUNT, current_password: PASSWORD, is_trainer: true };
  await send('PUT', '/auth/me', account, 200);
  await send('POST', '/notifications/devices', { token: pushToken, platform: 'android', locale: 'fa' }, 201);
  const gym = { name: 'Iron House', address: 'Tehran', location_lat: 35.7, location_lng: 51.4 };
  await send('POST', '/gyms', gym, 201);
  const service = { title: 'Eight weeks of strength', description: 'x', price: 1_200_000, duration_days: 56 };
  await send('POST', '/training-services', service, 201);
  await deposit(token, 250_000);
  await send('POST', '/payments/withdrawals', { amount: 20_000 }, 201);
  const change = { token: operatorToken, body: { first_name: 'سارا', height: 171 } };
  expectStatus(await api('PUT', `/users/${id}`, change), 200);
  return { ...member, pushToken };
};

/** Queues a refund for a purchase during an active subscription, as the re-verification does. Returns its token. */
export const dueRefund = async (userId: number): Promise<string> => {
  const { environment } = stack().part('store-billing');
  const client = await new MongoClient(stack().describe().servers.MONGODB_URI).connect();
  const purchase_token = `paid-${randomUUID()}`;
  try {
    const refunds = client.db(environment.MONGODB_DATABASE).collection<{ _id: number }>('refund_queue');
    const [newest] = await refunds.find().sort({ _id: -1 }).limit(1).toArray();
    await refunds.insertOne({
      _id: (newest?._id ?? 0) + 1_000,
      attempt_id: purchase_token,
      owed_for: purchase_token,
      purchase_key: purchase_token,
      channel: 'cafebazaar',
      purchase_token,
      product_id: 'premium_plus',
      user_id: userId,
      boostable_type: null,
      boostable_id: null,
      reason: 'already_running',
      created_at: new Date(),
      resolved_at: null,
      resolution: null,
      note: null,
      resolved_by: null,
      look_due_at: null,
    } as { _id: number });
    return purchase_token;
  } finally {
    await client.close();
  }
};

const GYM_REVIEWERS = 901;

const inDatabaseOf = async <T>(
  service: 'identity' | 'wallet',
  work: (database: Db) => Promise<T>,
): Promise<T> => {
  const client = await new MongoClient(stack().describe().servers.MONGODB_URI).connect();
  try {
    return await work(client.db(stack().part(service).environment.MONGODB_DATABASE));
  } finally {
    await client.close();
  }
};

/** Creates a role in the database, because the API creates none. Returns its id. */
export const gymReviewers = async (): Promise<number> => {
  const permissions = ['gyms.approve_license', 'gyms.view_all'];
  const role = { name: 'gym_reviewer', title: 'Gym reviewer', permissions };
  await inDatabaseOf('identity', (database) =>
    database
      .collection<{ _id: number }>('roles')
      .updateOne({ _id: GYM_REVIEWERS }, { $set: role }, { upsert: true }),
  );
  return GYM_REVIEWERS;
};

/** Removes the role, because other tests of this product expect only its own roles. */
export const removeGymReviewers = (): Promise<void> =>
  inDatabaseOf('identity', async (database) => {
    await database.collection('users').updateMany({}, { $pull: { role_ids: GYM_REVIEWERS as never } });
    await database.collection<{ _id: number }>('roles').deleteOne({ _id: GYM_REVIEWERS });
  });

/** The id of no account: erasing it changes nothing. */
const NOBODY = 999_999_999;

/** Publishes an event as if wallet's consumer had given it up. Returns the event's id. */
export const deadLetter = async (): Promise<string> => {
  const { EVENTS_NAMESPACE: namespace = '' } = stack().part('wallet').environment;
  const broker = await connectBroker({
    url: stack().describe().servers.AMQP_URL,
    namespace,
    log: createLog({ service: 'test', level: 'silent' }),
  });
  const id = randomUUID();
  const time = '2026-01-01T00:00:00.000Z';
  const event = {
    specversion: '1.0',
    id,
    source: '/services/identity',
    type: accountDeleted.type,
    subject: String(NOBODY),
    time,
    datacontenttype: 'application/json',
    aggregateversion: 3,
    data: { user_id: NOBODY, deleted_at: time },
  };
  try {
    await broker.publish(
      serviceExchange(namespace, 'wallet'),
      deadLetterQueue(namespace, 'wallet'),
      Buffer.from(JSON.stringify(event)),
      {
        headers: {
          [HEADER.consumer]: accountDeleted.type,
          [HEADER.error]: 'the database was away',
          [HEADER.attempts]: 7,
          [HEADER.firstFailure]: time,
        },
      },
    );
  } finally {
    await broker.close();
  }
  return id;
};
