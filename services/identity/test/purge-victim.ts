/**
 * One round of the purge in a process of its own, over the account `VICTIM_ACCOUNT`: `node purge-victim.ts`, with a
 * configuration in `VICTIM_CONFIG`. It kills itself, as by `kill -9`, when it comes to step `VICTIM_DIES_AT` (from 1
 * on); a step is a call of a store, of the outbox or of the blockers, or the begin, the commit or the end of a
 * transaction. It says each step.
 */
import { systemClock } from '@fitness/shared/clock.ts';
import type { Transact } from '../src/app/transact.ts';
import type { IdentityConfig } from '../src/config.ts';
import type { Parts } from '../src/parts.ts';
import { openReplica } from './purge-support.ts';

const config = JSON.parse(process.env.VICTIM_CONFIG ?? '{}') as IdentityConfig;
const account = Number(process.env.VICTIM_ACCOUNT);
const diesAt = Number(process.env.VICTIM_DIES_AT);
let steps = 0;

const step = async (name: string): Promise<void> => {
  steps += 1;
  process.stdout.write(`${name}\n`);
  if (steps !== diesAt) return;
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => undefined);
};

/** Every call of it is a step. */
const stepping = <Part extends object>(name: string, part: Part): Part =>
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
  (transact: Transact): Transact =>
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

const altered = (parts: Parts): Parts => ({
  ...parts,
  users: {
    ...stepping('users', parts.users),
    dueForDeletion: async function* (now) {
      for await (const due of parts.users.dueForDeletion(now)) if (due.userId === account) yield due;
    },
  },
  tokens: stepping('tokens', parts.tokens),
  codes: stepping('codes', parts.codes),
  notifications: stepping('notifications', parts.notifications),
  scores: stepping('scores', parts.scores),
  idempotency: stepping('idempotency', parts.idempotency),
  outbox: stepping('outbox', parts.outbox),
  blockers: stepping('blockers', parts.blockers),
  transact: steppingTransact(parts.transact),
});

const replica = await openReplica(config, systemClock, altered);
await replica.purge();
await replica.close();
