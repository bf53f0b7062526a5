import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import { appCaller, caller, restrictedCaller } from '@fitness/shared/testing/harness.ts';
import { describe, expect, test } from '@jest/globals';
import { wholeUser } from './testing/users.ts';
import { fromUserMessage, LIMITED_ACCESS_FIELDS, limitUser, toUserMessage, userSchema } from './user.ts';

const bare = wholeUser(7);
const filled = wholeUser(7, {
  bank_account_number: 'IR1',
  trainer_license_image: 'license.pdf',
  trainer_license_link: '/api/v1/media/3/license.pdf',
  trainer_license_approved: false,
  trainer_license_rejection_reason: 'unreadable',
  referrer_user_id: 3,
  height: 171,
  birth_date: '1990-01-01',
  gender: 'other',
  is_trainer: true,
  is_gym_owner: true,
  referral_score: 2 / 3,
  referrals_count: 4,
  roles: [{ id: 2, name: 'operator', title: 'Operator', permissions: ['users.view_all'] }],
  deletion_requested_at: '2026-01-01 00:00:00',
  deletion_scheduled_at: '2026-01-15 00:00:00',
  media: [
    {
      id: 1,
      attachable_type: 'App\\Models\\User',
      attachable_id: 7,
      link: 'http://api.test/api/v1/media/1/a.png',
      filename: 'a.png',
      mime_type: 'image/png',
      size: 5,
      purpose: null,
      created_at: '2026-01-01 00:00:00',
    },
  ],
  current_subscription: {
    id: 1,
    user_id: 7,
    type: 'plus',
    starts_at: '2026-01-01 00:00:00',
    expires_at: '2026-02-01 00:00:00',
    created_at: '2026-01-01 00:00:00',
  },
});

/** Serializes the user as a gRPC message and parses it again. */
const overTheWire = (user: Parameters<typeof toUserMessage>[0]) => {
  const { responseSerialize, responseDeserialize } = grpcDefinitions.identity().ShowUsers;
  const bytes = responseSerialize({ users: [toUserMessage(user)] });
  const [message] = responseDeserialize(bytes).users;
  if (message === undefined) throw new Error('one user in, none out');
  return fromUserMessage(message);
};

describe('the user resource', () => {
  test('the user resource has every field of specification 2.1, and hides the thirteen marked ones', () => {
    expect(Object.keys(userSchema.shape)).toHaveLength(26);
    expect([...LIMITED_ACCESS_FIELDS].sort()).toEqual(
      [
        'email',
        'phone',
        'bank_account_number',
        'trainer_license_image',
        'trainer_license_link',
        'trainer_license_approved',
        'trainer_license_rejection_reason',
        'referrer_user_id',
        'referral_score',
        'referrals_count',
        'roles',
        'deletion_requested_at',
        'deletion_scheduled_at',
      ].sort(),
    );
  });

  test.each([
    ['a guest', GUEST, false],
    ['somebody else', caller(8), false],
    ['the same user', caller(7, []), true],
    ['a holder of users.view_all', caller(8, ['users.view_all']), true],
    [
      'a restricted token of the same user',
      restrictedCaller(7, 'users.view_limited', 'payments.view_own'),
      false,
    ],
    ['a restricted token with users.view_all', restrictedCaller(7, 'users.view_all'), true],
    ['a third-party app, whose consent page names the profile', appCaller(7, 'posts.view'), true],
  ])('the user resource is whole or limited for %s', (_who, viewer, whole) => {
    const seen = Object.keys(limitUser(filled, viewer));
    expect(LIMITED_ACCESS_FIELDS.filter((field) => seen.includes(field))).toEqual(
      whole ? [...LIMITED_ACCESS_FIELDS] : [],
    );
    expect(seen).toHaveLength(whole ? 26 : 13);
  });

  test.each([
    ['whole, with every field filled', filled],
    ['whole, with nothing that can be left out', bare],
    ['limited', limitUser(filled, GUEST)],
    ['limited, with nothing that can be left out', limitUser(bare, GUEST)],
  ])('the user resource is unchanged by gRPC: %s', (_which, user) => {
    expect(overTheWire(user)).toEqual(user);
    expect(userSchema.parse(overTheWire(user))).toEqual(user);
  });
});
