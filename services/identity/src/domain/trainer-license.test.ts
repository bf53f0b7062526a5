import { describe, expect, test } from '@jest/globals';
import { isReasonMisplaced, reviewLicense } from './trainer-license.ts';

describe('reviewLicense', () => {
  const current = {
    trainer_license_image: 'l.pdf',
    trainer_license_media_id: 1,
    trainer_license_approved: false,
    trainer_license_rejection_reason: 'blurred',
  };
  const outcome = (approved: boolean | null, reason: string | null) => ({
    trainer_license_approved: approved,
    trainer_license_rejection_reason: reason,
  });
  test.each([
    [{}, {}],
    [{ approved: true }, outcome(true, null)],
    [{ approved: null }, outcome(null, null)],
    [{ approved: false }, outcome(false, 'blurred')],
    [{ approved: false, reason: 'torn' }, outcome(false, 'torn')],
    [{ reason: 'torn' }, outcome(false, 'torn')],
    [{ reason: null }, outcome(false, null)],
  ])('%p', (review, expected) => expect(reviewLicense(current, review)).toEqual(expected));
});

test.each([
  [false, false, { approved: false, reason: 'torn' }],
  [false, false, { reason: 'torn' }],
  [false, true, { approved: true, reason: null }],
  [true, false, { approved: true, reason: 'x' }],
  [true, false, { approved: null, reason: 'x' }],
  [true, true, { reason: 'x' }],
  [true, null, { reason: 'x' }],
])('a reason is misplaced: %p beside %p with %p', (misplaced, approved, review) => {
  const current = { trainer_license_approved: approved, trainer_license_rejection_reason: null };
  expect(isReasonMisplaced(current, review)).toBe(misplaced);
});
