import type { Shards } from '@fitness/shared/testing/shards.ts';

export const SHARDS: Shards = {
  cities: { bound: 'the cities of one country' },
  gym_counters: { bound: 'sixteen documents' },
  gym_owners: { key: ['_id'], because: 'the id of the owner; every command names it' },
  gym_ratings: {
    key: ['gymId'],
    because: 'the average of a gym, and the index that allows a user one rating of it',
    ids: 'an ObjectId',
    scatters: { 'the erasure of an account': ['find: userId'] },
  },
  gyms: { bound: 'the gyms of one country: 100,000 of 4 KB are 400 MB' },
  gyms_texts: { bound: 'like gyms: 20 KB each' },
  majors: { bound: 'a short list' },
  states: { bound: 'the states of one country' },
};
