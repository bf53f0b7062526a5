/**
 * What has happened to each of the demo data's people (contract 9). Every step looks whether its effect is there
 * already, so that a story which was interrupted goes on where it was.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@fitness/shared/log.ts';
import { z } from 'zod';
import { type Account, enter, finish, signIn, updateProfile } from './account.ts';
import type { DemoApi } from './api.ts';
import { balanceOf, fillUpTo, isPending, settle, withdraw, withdrawalsOf } from './money.ts';
import {
  athletePerson,
  DEMO_GYM,
  DEMO_PASSWORD,
  DEMO_TRAINING,
  operatorPerson,
  ownerPerson,
  premiumPerson,
  SAVER_BANK_ACCOUNT,
  SAVER_DEPOSIT,
  SAVER_WITHDRAWAL,
  saverPerson,
  TRAINER_BANK_ACCOUNT,
  trainerPerson,
} from './people.ts';

export interface StoryOptions {
  api: DemoApi;
  administrator: { username: string; password: string };
  /** Whether there is a bank to pay at. */
  hasBank: boolean;
  log: Logger;
}

const INCOME_PATIENCE_MS = 10_000;
const POLL_MS = 100;

const listOf = <Schema extends z.ZodType>(schema: Schema) => z.object({ data: z.array(schema) });
const withId = z.object({ id: z.int() });
const anything = z.looseObject({});
const pricesSchema = z.object({ data: z.object({ premium: z.object({ plus: z.number() }) }) });

/** Rejects when a step fails; it can be called again. */
export const tellStories = async (options: StoryOptions): Promise<void> => {
  const { hasBank, log } = options;
  if (!hasBank) {
    log.warn('SANDBOX_URL is not set: the demo data has no payments, no subscription and no trainee');
  }
  const operator = tellOperator(options);
  const stories = [
    operator,
    tellOwner(options),
    tellTrainerAndAthlete(options, operator),
    ...(hasBank ? [tellPremium(options), tellSaver(options)] : [enterBoth(options)]),
  ];
  const failed = (await Promise.allSettled(stories)).find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
};

/** Without a bank they have no story yet, but they can sign in. */
const enterBoth = async ({ api, log }: StoryOptions): Promise<void> => {
  await Promise.all([premiumPerson, saverPerson].map((person) => enter(api, log, person)));
};

/** The operator while he is still signed in from this. */
const tellOperator = async ({
  api,
  log,
  administrator: credentials,
}: StoryOptions): Promise<Account | undefined> => {
  const [operator, administrator] = await Promise.all([
    enter(api, log, operatorPerson),
    signIn(api, credentials.username, credentials.password),
  ]);
  if (operator === undefined) return undefined;
  if (administrator === undefined) {
    log.warn('the first administrator cannot sign in, so the demo operator stays a member');
    return undefined;
  }
  if (!operator.user.roles.some(({ name }) => name === 'operator')) {
    const { token } = administrator;
    const roles = await api.read(listOf(withId.extend({ name: z.string() })), 'GET', '/roles', { token });
    const role = roles.data.find(({ name }) => name === 'operator');
    if (role === undefined) throw new Error('there is no role named operator');
    const body = { role_ids: [role.id] };
    await api.read(anything, 'PUT', `/users/${operator.user.id}`, { token, body });
  }
  await finish(api, operator, operatorPerson);
  return operator;
};

const tellOwner = async ({ api, log }: StoryOptions): Promise<void> => {
  const owner = await enter(api, log, ownerPerson);
  if (owner === undefined) return;
  const { token } = owner;
  const { data } = await api.read(listOf(withId), 'GET', `/gyms?user_id=${owner.user.id}`, { token });
  if (data.length === 0) await api.read(anything, 'POST', '/gyms', { token, body: DEMO_GYM });
  await finish(api, owner, ownerPerson, { is_gym_owner: true });
};

/** The athlete buys the trainer's service; what the trainer earned is paid out by the operator. */
const tellTrainerAndAthlete = async (
  options: StoryOptions,
  operatorReady: Promise<Account | undefined>,
): Promise<void> => {
  const { api, log, hasBank } = options;
  const [trainer, athlete] = await Promise.all([
    enter(api, log, trainerPerson),
    enter(api, log, athletePerson),
  ]);
  if (trainer !== undefined) {
    const hasTrainee = hasBank && (await hasTrainees(api, trainer));
    const buyer = hasBank && !hasTrainee ? athlete : undefined;
    const [serviceId] = await Promise.all([
      offerTraining(api, trainer),
      updateProfile(api, trainer, { is_trainer: true, bank_account_number: TRAINER_BANK_ACCOUNT }),
      buyer === undefined ? undefined : fillUpTo(api, buyer, DEMO_TRAINING.price),
    ]);
    if (!hasBank) return;
    if (buyer !== undefined) await buyTraining(api, buyer, serviceId);
    // An athlete who is no longer ours has bought nothing, and there is nothing to pay out.
    const hasIncome = hasTrainee || buyer !== undefined;
    if (!hasIncome || (await payOut(options, trainer, await operatorReady))) {
      await finish(api, trainer, trainerPerson);
    }
  }
  if (athlete !== undefined && hasBank) await finish(api, athlete, athletePerson);
};

const offerTraining = async (api: DemoApi, trainer: Account): Promise<number> => {
  const { token } = trainer;
  const path = `/training-services?user_id=${trainer.user.id}`;
  const { data } = await api.read(listOf(withId), 'GET', path, { token });
  if (data[0] !== undefined) return data[0].id;
  const created = z.object({ data: withId });
  return (await api.read(created, 'POST', '/training-services', { token, body: DEMO_TRAINING })).data.id;
};

const hasTrainees = async (api: DemoApi, { token }: Account): Promise<boolean> =>
  (await api.read(listOf(withId), 'GET', '/trainees?role=seller', { token })).data.length > 0;

const buyTraining = async (api: DemoApi, { token }: Account, serviceId: number): Promise<void> => {
  const options = { token, key: 'demo-training' };
  await api.read(anything, 'POST', `/training-services/${serviceId}/purchase`, options);
};

/** Whether the trainer has everything; not while the operator cannot, or may not, do his part. */
const payOut = async (
  { api, log }: StoryOptions,
  trainer: Account,
  signedIn: Account | undefined,
): Promise<boolean> => {
  const earlier = await withdrawalsOf(api, trainer);
  let pending = earlier.find(isPending);
  if (pending === undefined) {
    // The income may be booked a moment after the purchase was answered.
    const giveUpAt = performance.now() + (earlier.length > 0 ? 0 : INCOME_PATIENCE_MS);
    let balance = await balanceOf(api, trainer);
    while (balance === 0 && performance.now() < giveUpAt) {
      await sleep(POLL_MS);
      balance = await balanceOf(api, trainer);
    }
    if (balance === 0 && earlier.length > 0) return true;
    pending = await withdraw(api, trainer, balance);
  }
  const operator = signedIn ?? (await signIn(api, operatorPerson.username, DEMO_PASSWORD));
  const isSettled = operator !== undefined && (await settle(api, operator, pending));
  if (!isSettled) log.warn('the demo operator cannot pay out the trainer, whose withdrawal stays pending');
  return isSettled;
};

const tellPremium = async ({ api, log }: StoryOptions): Promise<void> => {
  const premium = await enter(api, log, premiumPerson);
  if (premium === undefined) return;
  const { token } = premium;
  const [bought, prices] = await Promise.all([
    api.read(listOf(withId), 'GET', '/payments?type=purchase', { token }),
    api.read(pricesSchema, 'GET', '/payments/prices', { token }),
  ]);
  const isPaid = bought.data.length > 0;
  if (!isPaid) await fillUpTo(api, premium, prices.data.premium.plus);
  // Also when it is paid: the same key goes on with a purchase that was interrupted.
  const purchase = { token, body: { type: 'plus' }, key: 'demo-premium' };
  const { status } = await api.send('POST', '/payments/buy-premium', purchase);
  if (status !== 201 && !(isPaid && status === 400)) throw new Error(`buying premium answered ${status}`);
  await finish(api, premium, premiumPerson);
};

const tellSaver = async ({ api, log }: StoryOptions): Promise<void> => {
  const saver = await enter(api, log, saverPerson);
  if (saver === undefined) return;
  if ((await withdrawalsOf(api, saver)).length === 0) {
    await Promise.all([
      updateProfile(api, saver, { bank_account_number: SAVER_BANK_ACCOUNT }),
      fillUpTo(api, saver, SAVER_DEPOSIT),
    ]);
    await withdraw(api, saver, SAVER_WITHDRAWAL);
  }
  await finish(api, saver, saverPerson);
};
