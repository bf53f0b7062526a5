/**
 * A crash-test process in which every round of the purge stops at a step of its own: `purge(userId, nth)` is a round
 * over this account, on connections of its own, that comes to its nth step (from 1 on) and stays there. A step is a call
 * of a store, of the outbox or of the blockers, or the begin, the commit or the end of a transaction.
 */
import { systemClock } from '@fitness/shared/clock.ts';
import { answer } from '@fitness/shared/testing/crash-process.ts';
import type { Transact } from '../src/app/transact.ts';
import { readConfig } from '../src/config.ts';
import type { Parts } from '../src/parts.ts';
import { openReplica } from './purge-support.ts';

const config = readConfig();

type Step = (name: string) => Promise<void>;

/** Every call of it is a step. */
const stepping = <Part extends object>(step: Step, name: string, part: Part): Part =>
  new Proxy(part, {
    get: (target, field, receiver) => {
      const found: unknown = Reflect.get(target, field, receiver);
      if (typeof found !== 'function') return found;
      return async (...given: unknown[]) => {
        await step(`${name}.${String(field)}`);
        return found.apply(target, given);
      };
    },
  });

const steppingTransact =
  (step: Step, transact: Transact): Transact =>
  async (work) => {
    await step('begin');
    const result = await transact(async (session) => {
      const done = await work(session);
      await step('commit');
      return done;
    });
    await step('committed');
    return result;
  };

const altered = (parts: Parts, account: number, step: Step): Parts => ({
  ...parts,
  users: {
    ...stepping(step, 'users', parts.users),
    dueForDeletion: async function* (now) {
      for await (const due of parts.users.dueForDeletion(now)) if (due.userId === account) yield due;
    },
  },
  tokens: stepping(step, 'tokens', parts.tokens),
  codes: stepping(step, 'codes', parts.codes),
  notifications: stepping(step, 'notifications', parts.notifications),
  scores: stepping(step, 'scores', parts.scores),
  idempotency: stepping(step, 'idempotency', parts.idempotency),
  outbox: stepping(step, 'outbox', parts.outbox),
  blockers: stepping(step, 'blockers', parts.blockers),
  transact: steppingTransact(step, parts.transact),
});

/** Resolves with the step at which it stops, or with nothing when the round is over. */
const purge = (account: number, nth: number): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    let steps = 0;
    const step: Step = async (name) => {
      steps += 1;
      if (steps < nth) return;
      resolve(name);
      await new Promise(() => undefined);
    };
    openReplica(config, systemClock, (parts) => altered(parts, account, step))
      .then((replica) => replica.purge())
      .then(() => resolve(undefined), reject);
  });

answer({ purge });
