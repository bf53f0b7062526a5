import type { Shards } from '@fitness/shared/testing/shards.ts';

export const SHARDS: Shards = {
  boosts: { bound: 'a boost is paid: a million of 0.4 KB are 400 MB' },
  refund_queue: { bound: 'a purchase that was refunded or not granted: a small part of all' },
  slots: { key: ['_id'], because: 'what a grant is for; every command names it' },
  store_purchase_attempts: {
    key: ['_id'],
    because: 'the hash of channel and purchase token; every redemption names it',
    scatters: { 'the job that verifies purchases, once a round': ['aggregate: channel, next_check_at'] },
  },
  store_purchases: {
    key: ['_id'],
    because: 'channel and purchase token: every redemption names them, and a receipt is unique by them',
    scatters: {
      'jobs that acknowledge purchases and look for refunds, once a round': [
        'aggregate: acknowledge_due_at, channel',
        'aggregate: channel, look_due_at',
      ],
    },
    claims: {
      channel_1_purchase_token_1: 'nothing: `_id` has both values',
      marketing_boost_id_1: 'nothing: the boost is inserted with its receipt, and its `_id` is unique',
      user_premium_subscription_id_1:
        'nothing: the subscription is inserted with its receipt, and its `_id` is from a sequence',
    },
  },
  subscriptions: {
    key: ['user_id'],
    because: 'whether an account has premium: each sign-in and profile asks',
    ids: 'a sequence',
    scatters: {
      'the grant of a receipt: a replay, a refund': ['findAndModify: _id, expires_at', 'join: _id'],
      'the job that announces the end, once a round': [
        'aggregate: expiry_notice_due_at',
        'findAndModify: _id, expiry_notice_due_at',
      ],
    },
  },
  wallet_purchases: {
    key: ['_id'],
    because: 'a random id: every step of a purchase names it',
    scatters: {
      'a purchase with an Idempotency-Key looks for an earlier one': [
        'find: client_key, created_at, user_id',
      ],
      'the job that finishes purchases, once a round': ['aggregate: lease_until'],
    },
  },
};
