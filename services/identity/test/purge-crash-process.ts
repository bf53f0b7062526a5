/**
 * A crash-test process whose purge rounds stop at a chosen step. `purge(userId, nth)` runs a round over this account,
 * in separate sessions, and stops forever at its nth step (counted from 1). A step is a call to a store, the outbox or the
 * blockers, or the beginning, the commit or the end of a transaction.
 */
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { answer } from '@fitness/shared/testing/crash-process.ts';
import { readConfig } from '../src/config.ts';
import type { AllDependencies } from '../src/dependencies.ts';
import type { Store } from '../src/store/store.ts';
import { createUseCases } from '../src/use-cases.ts';
import { openReplica } from './purge-support.ts';

const config = readConfig();

type Step = (name: string) => Promise<void>;

/** Announces a step before every method call on `target`. */
const withSteps = <Target extends object>(step: Step, name: string, target: Target): Target =>
  new Proxy(target, {
    get: (object, field, receiver) => {
      const value: unknown = Reflect.get(object, field, receiver);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        await step(`${name}.${String(field)}`);
        return value.apply(object, args);
      };
    },
  });

const transactionWithSteps =
  (step: Step, transaction: Store['transaction']): Store['transaction'] =>
  async (work) => {
    await step('begin');
    const result = await transaction(async (session) => {
      const done = await work(session);
      await step('commit');
      return done;
    });
    await step('committed');
    return result;
  };

const storeWithSteps = (store: Store, userId: number, step: Step): Store => ({
  ...store,
  users: {
    ...withSteps(step, 'users', store.users),
    dueForDeletion: async function* (now) {
      for await (const due of store.users.dueForDeletion(now)) if (due.userId === userId) yield due;
    },
  },
  tokens: withSteps(step, 'tokens', store.tokens),
  codes: withSteps(step, 'codes', store.codes),
  notifications: withSteps(step, 'notifications', store.notifications),
  scores: withSteps(step, 'scores', store.scores),
  transaction: transactionWithSteps(step, store.transaction),
});

const instrument = (dependencies: AllDependencies, userId: number, step: Step): AllDependencies => ({
  ...dependencies,
  store: storeWithSteps(dependencies.store, userId, step),
  newNotifications: withSteps(step, 'notifications', dependencies.newNotifications),
  idempotency: withSteps(step, 'idempotency', dependencies.idempotency),
  outbox: withSteps(step, 'outbox', dependencies.outbox),
  blockers: withSteps(step, 'blockers', dependencies.blockers),
});

const { dependencies } = await openReplica(config, systemClock);

/** Resolves with the step at which the round stopped, or with undefined when it completed. */
const purge = (userId: number, nth: number): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    let steps = 0;
    const step: Step = async (name) => {
      steps += 1;
      if (steps < nth) return;
      resolve(name);
      await new Promise(() => undefined);
    };
    const { purgeAccounts } = createUseCases(instrument(dependencies, userId, step));
    purgeAccounts().then(() => resolve(undefined), reject);
  });

answer({ purge });
