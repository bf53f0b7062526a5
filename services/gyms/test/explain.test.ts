import { GUEST } from '@fitness/shared/caller.ts';
import { systemClock, systemRandom } from '@fitness/shared/clock.ts';
import { createOutbox } from '@fitness/shared/events/outbox.ts';
import { syncIndexes } from '@fitness/shared/mongo/connect.ts';
import { registerEventModels } from '@fitness/shared/mongo/event-models.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { caller, dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mongoose, { type Connection } from 'mongoose';
import { createGymOwnership } from '../src/app/blockers/gym-ownership.ts';
import { createCreateGym } from '../src/app/create-gym.ts';
import { createDeleteGym } from '../src/app/delete-gym.ts';
import { createFindGyms } from '../src/app/find-gyms.ts';
import { createForgetAccount } from '../src/app/forget-account.ts';
import { createPresentGyms } from '../src/app/gym-resource.ts';
import { createAttachLicense, createForgetLicense } from '../src/app/license-document.ts';
import { createListGyms } from '../src/app/list-gyms.ts';
import { createListCities, createListMajors } from '../src/app/list-reference.ts';
import type { Parts } from '../src/app/parts.ts';
import { createRateGym } from '../src/app/rate-gym.ts';
import { createSetCrowd } from '../src/app/set-crowd.ts';
import { createSetWorkingPeriods } from '../src/app/set-working-periods.ts';
import { createUpdateGym } from '../src/app/update-gym.ts';
import { CITIES, MAJORS, STATES } from '../src/domain/reference-data.ts';
import { createGymStore } from '../src/store/gym-store.ts';
import { createOwnerStore } from '../src/store/owner-store.ts';
import { createRatingStore } from '../src/store/rating-store.ts';
import { createReferenceStore } from '../src/store/reference-store.ts';
import { OPERATOR_PERMISSIONS } from './support.ts';

type Command = Record<string, unknown>;
type Plan = { stage?: string; inputStage?: Plan; inputStages?: Plan[]; queryPlan?: Plan };

const EXPLAINED = ['find', 'aggregate', 'update', 'delete', 'findAndModify'];
const OWNER = caller(7, OPERATOR_PERMISSIONS);

let connection: Connection;
let parts: Parts;
let sent: Command[] = [];
const config = testConfig('gyms');

beforeAll(async () => {
  mongoose.set('sanitizeFilter', true);
  connection = await mongoose
    .createConnection(config.MONGODB_URI, {
      dbName: config.MONGODB_DATABASE,
      monitorCommands: true,
      autoIndex: false,
      autoCreate: false,
    })
    .asPromise();
  registerEventModels(connection);
  parts = {
    gyms: createGymStore(connection),
    owners: createOwnerStore(connection),
    ratings: createRatingStore(connection),
    reference: createReferenceStore(connection),
    users: { getMany: async (ids) => new Map(ids.map((id) => [id, {} as never])) },
    extras: { boosts: async () => new Map(), media: async () => new Map() },
    documents: { hurryDeletion: async () => undefined },
    outbox: createOutbox({ connection, service: 'gyms', clock: systemClock, random: systemRandom }),
    sequences: createSequences(connection),
    clock: systemClock,
    transact: (work) => inTransaction(connection, work),
  };
  await syncIndexes(connection);
  await parts.reference.seed({ states: STATES, cities: CITIES, majors: MAJORS });
  for (let index = 0; index < 30; index += 1) await create(index);
  connection.getClient().on('commandStarted', ({ commandName, command }) => {
    if (EXPLAINED.includes(commandName)) sent.push({ ...(command as Command) });
  });
});
afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

const create = (index: number) =>
  createCreateGym(parts)(
    {
      name: `Gym number ${index}`,
      address: 'Street',
      description: null,
      lat: 30 + index / 100,
      lng: 50,
      isActive: index % 2 === 0,
      showCrowd: false,
      cityId: 1 + (index % 5),
      majorIds: [1 + (index % 4)],
    },
    OWNER,
  );

type Write = { q: unknown; hint?: unknown };

/** What a command looks up, as a find or a count: not every database explains the lookup of a write. */
const lookupOf = (command: Command): Command => {
  const [verb = ''] = Object.keys(command);
  const collection = command[verb];
  const find = ({ q, hint }: Write): Command => ({
    find: collection,
    filter: q,
    ...(hint === undefined ? {} : { hint }),
  });
  switch (verb) {
    case 'find': {
      const { filter, sort, skip, limit, hint } = command;
      const given = Object.entries({ filter, sort, skip, limit, hint }).filter(
        ([, value]) => value !== undefined,
      );
      return { find: collection, ...Object.fromEntries(given) };
    }
    case 'update':
      return find((command.updates as Write[])[0] as Write);
    case 'delete':
      return find((command.deletes as Write[])[0] as Write);
    case 'findAndModify':
      return find({ q: command.query, hint: command.hint });
    case 'aggregate':
      return { aggregate: collection, pipeline: command.pipeline, cursor: {}, hint: command.hint };
    default:
      throw new Error(`${verb} is not explained`);
  }
};

const stagesOf = (plan: Plan | undefined): string[] =>
  plan === undefined
    ? []
    : [plan, plan.queryPlan, plan.inputStage, ...(plan.inputStages ?? [])]
        .filter((part) => part !== undefined)
        .flatMap((part) => [part.stage ?? '', ...(part === plan ? [] : stagesOf(part))]);

const findPlans = (answer: unknown): Plan[] => {
  if (typeof answer !== 'object' || answer === null) return [];
  return Object.entries(answer).flatMap(([key, value]) =>
    key === 'winningPlan' ? [value as Plan] : findPlans(value),
  );
};

/** Every command that `work` sends is explained; answers the collections and the stages of their plans. */
const explain = async (work: () => Promise<unknown>): Promise<string[]> => {
  sent = [];
  await work();
  const commands = sent;
  expect(commands.length).toBeGreaterThan(0);
  const plans: string[] = [];
  for (const command of commands) {
    const [verb = ''] = Object.keys(command);
    const answer = await connection.db?.command({ explain: lookupOf(command), verbosity: 'queryPlanner' });
    const stages = findPlans(answer).flatMap(stagesOf);
    // An explanation that shows no plan would let everything pass.
    expect(stages.length).toBeGreaterThan(0);
    plans.push(`${verb} ${String(command[verb])}: ${stages.join(' < ')}`);
  }
  return plans;
};

const PAGE = { mode: 'page', page: 1, perPage: 5, skip: 0 } as const;
const CURSOR = { mode: 'cursor', perPage: 5, after: [20] } as const;
const NEAR_CURSOR = { mode: 'cursor', perPage: 5, after: [10, 20] } as const;
const near = { lat: 30, lng: 50 };
const readers = { guest: GUEST, member: caller(7), 'holder of gyms.view_all': OWNER };
const filters = {
  'no filter': {},
  search: { search: 'number 1' },
  'a short search': { search: 'n' },
  'a search with a half-space': { search: 'num\u200cber' },
  city: { cityId: 1 },
  majors: { majorIds: [1, 2] },
  owner: { ownerId: 7 },
  'all filters': { search: 'gym', cityId: 1, majorIds: [1], ownerId: 7 },
};

describe('no query of the service scans a collection', () => {
  const lists = Object.entries(filters).flatMap(([filterName, filter]) =>
    Object.entries(readers).map(([reader, as]) => ({ filterName, filter, reader, as })),
  );
  test.each(lists)('GET /gyms by $filterName for a $reader', async ({ filter, as }) => {
    const list = createListGyms(parts);
    for (const [query, page] of [
      [filter, PAGE],
      [filter, CURSOR],
      [{ ...filter, near }, PAGE],
      [{ ...filter, near }, NEAR_CURSOR],
    ] as const) {
      const plans = await explain(() => list(query, page, as));
      expect(plans.filter((plan) => plan.includes('COLLSCAN'))).toEqual([]);
    }
  });

  const id = 3;
  test.each<[string, () => Promise<unknown>]>([
    [
      'a page of resources',
      async () =>
        createPresentGyms(parts)(await parts.gyms.findMany([1, 2, 3]), { caller: OWNER, locale: 'en' }),
    ],
    ['GET /cities', () => createListCities(parts)({}, PAGE)],
    ['GET /cities of a state', () => createListCities(parts)({ stateId: 2 }, CURSOR)],
    ['GET /majors', () => createListMajors(parts)(PAGE)],
    ['POST /gyms', () => create(99)],
    [
      'PUT /gyms/{id}',
      () =>
        createUpdateGym(parts)(
          id,
          { details: { name: 'New', ownerId: 7, cityId: 2 }, license: { clearDocument: true } },
          OWNER,
        ),
    ],
    ['PUT /gyms/{id}/rating', () => createRateGym(parts)(id, 4, OWNER)],
    ['PUT /gyms/{id}/crowd', () => createSetCrowd(parts)(id, { current: 1, capacity: 2 }, OWNER)],
    ['PUT /gyms/{id}/working-periods', () => createSetWorkingPeriods(parts)(id, [], OWNER)],
    ['DELETE /gyms/{id}', () => createDeleteGym(parts)(4, OWNER)],
    ['Gyms.GetGyms', () => createFindGyms(parts)([1, 2])],
    [
      'Gyms.AttachLicense',
      () =>
        parts.transact((session) =>
          createAttachLicense(parts)(session, { gymId: id, mediaId: 9, filename: 'a' }),
        ),
    ],
    [
      'media.media.deleted',
      () => parts.transact((session) => createForgetLicense(parts)(session, { gymId: id, mediaId: 9 })),
    ],
    ['the blocker gym_ownership', () => createGymOwnership(parts)(7)],
    ['identity.account.deleted', () => parts.transact((session) => createForgetAccount(parts)(session, 7))],
  ])('%s', async (_name, work) => {
    const plans = await explain(work);
    expect(plans.filter((plan) => plan.includes('COLLSCAN'))).toEqual([]);
  });

  test('the explanation does find a scan', async () => {
    const plans = await explain(() => connection.collection('gyms').find({ description: 'x' }).toArray());
    expect(plans).toEqual([expect.stringContaining('COLLSCAN')]);
  });
});
