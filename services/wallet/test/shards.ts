import type { Shards } from '@fitness/shared/testing/shards.ts';

export const SHARDS: Shards = {
  ledger_entries: {
    key: ['_id'],
    because: 'the key of the booking, so a repeat has one effect',
    scatters: {
      'the sealer, once a second, and the audit': [
        'aggregate: seal',
        'find: _id',
        'find: payment_ids',
        'find: seal',
      ],
    },
  },
  ledger_seals: { bound: 'one chain: a document for up to 500 entries, in a separate database' },
  payments: {
    key: ['user_id'],
    because: 'the history and the open payments of an account',
    ids: 'a sequence',
    scatters: {
      'lists of operators over all accounts': [
        'aggregate: _id, created_at, is_done, is_rejected, type',
        'aggregate: _id, is_done, is_rejected, type',
        'aggregate: created_at, is_done, is_rejected, type',
        'aggregate: _id, gateway.state',
        'aggregate: gateway.state',
        'aggregate: is_done, is_rejected, type',
      ],
      'a deposit that the gateway reports, and steps that know the id alone': [
        'find: _id',
        'find: gateway.track_id',
        'findAndModify: _id, gateway.state, is_done, type',
        'findAndModify: _id, is_done, is_rejected, type',
        'updateMany: _id',
        'updateOne: _id, gateway.check_at, is_done',
        'updateOne: _id, gateway.state, is_done, type',
      ],
      'the job that asks for due deposits, and their number': ['aggregate: gateway.check_at, gateway.state'],
      'an upgrade': ['updateMany: created_at, gateway.check_at, gateway.state, is_done, is_rejected, type'],
    },
    claims: {
      'gateway.track_id_1': 'a collection of deposits, keyed by the track id, that names user and payment',
    },
  },
  wallets: {
    key: ['_id'],
    because: 'the number of the account; every booking names it',
    scatters: {
      'the audit': ['find: _id'],
      'the job that holds credits of erased accounts, once a round': ['find: balance, erased_at'],
    },
  },
};
