import type { Shards } from '@fitness/shared/testing/shards.ts';

export const SHARDS: Shards = {
  boosts: { bound: 'a boost is paid: a million of 0.2 KB are 200 MB' },
  counters: { bound: 'thirty-two documents' },
  posts: {
    key: ['_id'],
    because: 'a sequence: new posts go to all shards, and a post is read and changed by its id',
    scatters: {
      'a page of a list or of a search: a window of ids, of which each shard has a part': [
        'find: _id, facets',
        'find: facets',
      ],
      'posts that move with their profile, in steps of 400': ['find: _id, profile_key'],
    },
  },
  posts_texts: {
    key: ['row'],
    because: 'the id of the post: its texts are written and deleted by it',
    ids: 'an ObjectId',
    scatters: {
      'a search reads a window of ids that have a gram': ['find: grams, row'],
      'texts that are deleted with the posts of a profile, in steps': ['deleteMany: _id'],
    },
  },
  profiles: {
    key: ['_id'],
    because: 'kind and number of the profile; each post is written with its profile',
    scatters: { 'the erasure of an account, or a change of its gym': ['find: owner_user_id'] },
  },
  purchase_keys: { key: ['_id'], because: 'the hash of a key; every command names it' },
  trainees: {
    key: ['user_id'],
    because: 'the buyer: a purchase finds what it has begun, and a buyer their list',
    ids: 'a sequence',
    scatters: {
      'the list of a seller, and the blocker of their deletion': [
        'aggregate: seller_user_id, status',
        'find: _id, seller_user_id, status',
        'find: _id, seller_user_id, status, training_service_id',
      ],
      'the end of a purchase, and a delivery, which know the id alone': [
        'find: _id',
        'findAndModify: _id, status',
      ],
      'the job that finishes purchases, once a round': ['aggregate: lease_until, status'],
    },
  },
  training_services: {
    key: ['_id'],
    because: 'a sequence, as for posts',
    scatters: {
      'a page of a list or of a search, its count, and its boosted rows': [
        'aggregate: _id, facets',
        'aggregate: facets, price',
        'find: _id, facets',
        'find: boosted_until',
        'find: facets',
      ],
      'the erasure of a seller': ['find: user_id'],
    },
  },
  training_services_texts: {
    key: ['row'],
    because: 'the id of the training service',
    ids: 'an ObjectId',
    scatters: {
      'a search reads a window of ids that have a gram': ['find: grams, row'],
      'texts that are deleted with the training services of an account, in steps': ['deleteMany: _id'],
    },
  },
};
