import type { Shards } from '@fitness/shared/testing/shards.ts';

export const SHARDS: Shards = {
  confirmation_codes: { key: ['_id'], because: 'the number of the account; every command names it' },
  devices: {
    key: ['user_id'],
    because: 'the devices of an account are read for each of its notifications',
    ids: 'a sequence',
    scatters: {
      'a device that changes hands, and one that a notification is sent to': [
        'deleteOne: _id',
        'deleteOne: _id, push_token',
        'deleteOne: push_token',
      ],
      'the end of a session': ['deleteOne: session'],
    },
    claims: {
      push_token_1: 'a collection of push tokens, keyed by their hash, that names user and device',
      session_1: 'the row of the session in `tokens`, which would name its device',
    },
  },
  login_keys: {
    key: ['_id'],
    because: 'a user name, e-mail or phone: every sign-in names it, and it is unique by it',
    scatters: {
      'the names of an account: a new password, a change of a name, an erasure': [
        'deleteMany: user_id',
        'find: user_id',
        'updateMany: user_id',
      ],
    },
  },
  notification_preferences: { key: ['_id'], because: 'the number of the account; every command names it' },
  notifications: {
    key: ['user_id'],
    because: 'the list of an account and the number of its unread ones',
    ids: 'a sequence',
    scatters: { 'a notification that was marked as read': ['find: _id'] },
  },
  oauth_clients: { key: ['_id'], because: 'a random id; every command names it' },
  oauth_records: {
    key: ['_id'],
    because: 'a random id: every exchange of a code or refresh token names it',
    scatters: {
      'the grants of an account, for its list and to revoke them': [
        'aggregate: expires_at, grant_number, user_id',
        'find: grant_number, user_id',
        'find: user_id',
      ],
      'what was issued under a grant that is revoked': ['find: grant_id'],
      'the session of a page of consent': ['find: uid'],
    },
  },
  referral_scores: { key: ['_id'], because: 'the number of the account; every command names it' },
  roles: { bound: 'a handful of named sets of permissions' },
  second_factors: { key: ['_id'], because: 'the number of the account; every command names it' },
  tokens: {
    key: ['_id'],
    because: 'the hash of the token: each introspection names it',
    scatters: {
      'the tokens of an account, for its list and to revoke them': [
        'aggregate: expires_at, kind, token_number, user_id',
        'aggregate: expires_at, kind, user_id',
        'find: kind, token_number, user_id',
        'find: user_id',
      ],
      'the tokens of a grant that is revoked': ['find: grant_id'],
    },
  },
  users: {
    key: ['_id'],
    because: 'a sequence: an account is read and changed by its number, and at a sign-in',
    scatters: {
      'lists of operators, and of users for a search': [
        'aggregate: _id, is_trainer, standing',
        'aggregate: _id, standing',
        'aggregate: is_trainer, role_ids, standing',
        'aggregate: is_trainer, standing',
        'aggregate: role_ids, standing',
        'aggregate: standing',
        'find: _id, is_trainer, standing',
        'find: _id, role_ids',
        'find: _id, standing',
        'find: role_ids',
        'find: standing',
      ],
      'license reviews of operators': [
        'aggregate: _id, trainer_license_reviewed_name',
        'aggregate: trainer_license_approved, trainer_license_media_id',
        'aggregate: trainer_license_reviewed_name',
      ],
      'roles of operators': ['aggregate: _id, deletion_scheduled_at, erased_at, role_ids'],
      'referrals of an account, for its score': [
        'aggregate: has_referrals, referrer_user_id',
        'aggregate: referrer_user_id',
      ],
      'a registration with a referral code': ['find: referral_code'],
      'the job of due deletions, once a round': ['find: deletion_scheduled_at'],
    },
    claims: { referral_code_1: 'a row of `login_keys` for the code, as for the names of the account' },
  },
  users_texts: {
    key: ['row'],
    because: 'the number of the account',
    ids: 'an ObjectId',
    scatters: { 'a search reads a window of ids that have a gram': ['find: grams, row'] },
  },
};
