/**
 * Creates the accounts of the demo data and their content. Every step first checks whether it is already done, so
 * an interrupted seed continues where it stopped.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Schemas } from '@fitness/client';
import { DEMO_PASSWORD } from '@fitness/shared/kernel/known-values.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { type Account, markComplete, registerOrSignIn, signIn, updateProfile } from './account.ts';
import type { DemoApi } from './api.ts';
import { balanceOf, depositUpTo, isPending, settleWithdrawal, withdraw, withdrawalsOf } from './money.ts';
import { DEMO } from './people.ts';
import { publishPosts } from './posts.ts';

export interface SeedOptions {
  api: DemoApi;
  administrator: { username: string; password: string };
  /** Whether deposits can be paid. */
  hasBank: boolean;
  log: Logger;
}

const { operator: operatorPerson, owner: ownerPerson, trainer: trainerPerson } = DEMO.people;
const { athlete: athletePerson, premium: premiumPerson, saver: saverPerson } = DEMO.people;
const INCOME_DEADLINE_MS = 10_000;
const POLL_MS = 100;

/** Rejects if a step fails. It can then be repeated. */
export const seedAccounts = async (options: SeedOptions): Promise<void> => {
  const { hasBank, log } = options;
  if (!hasBank) {
    log.warn('SANDBOX_URL is not set: the demo data has no payments, no subscription and no trainee');
  }
  const operator = seedOperator(options);
  const seeds = [
    operator,
    seedOwner(options),
    seedTrainerAndAthlete(options, operator),
    ...(hasBank ? [seedPremium(options), seedSaver(options)] : [registerWithoutBank(options)]),
  ];
  const failed = (await Promise.allSettled(seeds)).find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
};

/** Whether {@link seedAccounts} has nothing left to do. False if identity does not respond. Calls only identity. */
export const areComplete = async ({ api, log }: Pick<SeedOptions, 'api' | 'log'>): Promise<boolean> => {
  const checks = Object.values(DEMO.people).map((person) => registerOrSignIn(api, log, person));
  const results = await Promise.allSettled(checks);
  return results.every((result) => result.status === 'fulfilled' && result.value === undefined);
};

/** Without a bank these accounts can only sign in. */
const registerWithoutBank = async ({ api, log }: SeedOptions): Promise<void> => {
  await Promise.all([premiumPerson, saverPerson].map((person) => registerOrSignIn(api, log, person)));
};

/** Returns the signed-in operator if this call has modified it. */
const seedOperator = async ({
  api,
  log,
  administrator: credentials,
}: SeedOptions): Promise<Account | undefined> => {
  const [operator, administrator] = await Promise.all([
    registerOrSignIn(api, log, operatorPerson),
    signIn(api, credentials.username, credentials.password),
  ]);
  if (operator === undefined) return undefined;
  if (administrator === undefined) {
    log.warn('the first administrator cannot sign in: the demo operator stays a member');
    return undefined;
  }
  if (!operator.user.roles?.some(({ name }) => name === 'operator')) {
    const { token } = administrator;
    const roles = await api.read<Schemas['RoleList']>('GET', '/roles', { token });
    const role = roles.data.find(({ name }) => name === 'operator');
    if (role === undefined) throw new Error('there is no role named operator');
    const body = { role_ids: [role.id] };
    await api.read('PUT', `/users/${operator.user.id}`, { token, body });
  }
  await markComplete(api, operator, operatorPerson);
  return operator;
};

const seedOwner = async ({ api, log }: SeedOptions): Promise<void> => {
  const owner = await registerOrSignIn(api, log, ownerPerson);
  if (owner === undefined) return;
  const { token } = owner;
  const { data } = await api.read<Schemas['GymList']>('GET', `/gyms?user_id=${owner.user.id}`, { token });
  if (data.length === 0) await api.read('POST', '/gyms', { token, body: DEMO.gym });
  await publishPosts(api, owner, DEMO.posts);
  await markComplete(api, owner, ownerPerson, { is_gym_owner: true });
};

/** The athlete buys the trainer's service, and the operator pays out the trainer's income. */
const seedTrainerAndAthlete = async (
  options: SeedOptions,
  operatorReady: Promise<Account | undefined>,
): Promise<void> => {
  const { api, log, hasBank } = options;
  const [trainer, athlete] = await Promise.all([
    registerOrSignIn(api, log, trainerPerson),
    registerOrSignIn(api, log, athletePerson),
  ]);
  if (trainer !== undefined) {
    const hasTrainee = hasBank && (await hasTrainees(api, trainer));
    const buyer = hasBank && !hasTrainee ? athlete : undefined;
    const [serviceId] = await Promise.all([
      offerTraining(api, trainer),
      updateProfile(api, trainer, {
        is_trainer: true,
        bank_account_number: DEMO.bankAccounts.trainer,
        current_password: DEMO_PASSWORD,
      }),
      buyer === undefined ? undefined : depositUpTo(api, buyer, DEMO.training.price),
    ]);
    if (!hasBank) return;
    if (buyer !== undefined) await buyTraining(api, buyer, serviceId);
    // Without the athlete's account there is no purchase and no income.
    const hasIncome = hasTrainee || buyer !== undefined;
    if (!hasIncome || (await payOutIncome(options, trainer, await operatorReady))) {
      await markComplete(api, trainer, trainerPerson);
    }
  }
  if (athlete !== undefined && hasBank) await markComplete(api, athlete, athletePerson);
};

const offerTraining = async (api: DemoApi, trainer: Account): Promise<number> => {
  const { token } = trainer;
  const path = `/training-services?user_id=${trainer.user.id}`;
  const { data } = await api.read<Schemas['TrainingServiceList']>('GET', path, { token });
  if (data[0] !== undefined) return data[0].id;
  const options = { token, body: DEMO.training };
  return (await api.read<Schemas['TrainingServiceResponse']>('POST', '/training-services', options)).data.id;
};

const hasTrainees = async (api: DemoApi, { token }: Account): Promise<boolean> =>
  (await api.read<Schemas['TraineeList']>('GET', '/trainees?role=seller', { token })).data.length > 0;

const buyTraining = async (api: DemoApi, { token }: Account, serviceId: number): Promise<void> => {
  const options = { token, key: 'demo-training' };
  await api.read('POST', `/training-services/${serviceId}/purchase`, options);
};

/** False while the operator cannot sign in or lacks the permission. */
const payOutIncome = async (
  { api, log }: SeedOptions,
  trainer: Account,
  signedIn: Account | undefined,
): Promise<boolean> => {
  const earlier = await withdrawalsOf(api, trainer);
  let pending = earlier.find(isPending);
  if (pending === undefined) {
    // The income may be booked after the response to the purchase.
    const giveUpAt = performance.now() + (earlier.length > 0 ? 0 : INCOME_DEADLINE_MS);
    let balance = await balanceOf(api, trainer);
    while (balance === 0 && performance.now() < giveUpAt) {
      await sleep(POLL_MS);
      balance = await balanceOf(api, trainer);
    }
    if (balance === 0 && earlier.length > 0) return true;
    pending = await withdraw(api, trainer, balance);
  }
  const operator = signedIn ?? (await signIn(api, operatorPerson.username, DEMO_PASSWORD));
  const isSettled = operator !== undefined && (await settleWithdrawal(api, operator, pending));
  if (!isSettled) log.warn('the demo operator cannot pay out the trainer: the withdrawal stays pending');
  return isSettled;
};

const seedPremium = async ({ api, log }: SeedOptions): Promise<void> => {
  const premium = await registerOrSignIn(api, log, premiumPerson);
  if (premium === undefined) return;
  const { token } = premium;
  const [purchases, prices] = await Promise.all([
    api.read<Schemas['PaymentList']>('GET', '/payments?type=purchase', { token }),
    api.read<Schemas['PricesResponse']>('GET', '/payments/prices', { token }),
  ]);
  const isPaid = purchases.data.length > 0;
  if (!isPaid) await depositUpTo(api, premium, prices.data.premium.plus);
  // This is sent even after a payment, because the key continues an interrupted purchase.
  const purchase = { token, body: { type: 'plus' }, key: 'demo-premium' };
  const { status } = await api.send('POST', '/payments/buy-premium', purchase);
  if (status !== 201 && !(isPaid && status === 400)) throw new Error(`buying premium answered ${status}`);
  await markComplete(api, premium, premiumPerson);
};

const seedSaver = async ({ api, log }: SeedOptions): Promise<void> => {
  const saver = await registerOrSignIn(api, log, saverPerson);
  if (saver === undefined) return;
  if ((await withdrawalsOf(api, saver)).length === 0) {
    await Promise.all([
      updateProfile(api, saver, {
        bank_account_number: DEMO.bankAccounts.saver,
        current_password: DEMO_PASSWORD,
      }),
      depositUpTo(api, saver, DEMO.saverTooman.deposit),
    ]);
    await withdraw(api, saver, DEMO.saverTooman.withdrawal);
  }
  await markComplete(api, saver, saverPerson);
};
