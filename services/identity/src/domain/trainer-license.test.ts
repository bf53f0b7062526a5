import { describe, expect, test } from '@jest/globals';
import { reviewLicense } from './trainer-license.ts';

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
    [{ approved: true, reason: 'x' }, outcome(true, null)],
    [{ approved: false }, outcome(false, 'blurred')],
    [{ approved: false, reason: 'torn' }, outcome(false, 'torn')],
    [{ reason: 'torn' }, outcome(false, 'torn')],
    [{ reason: null }, outcome(false, null)],
  ])('%p', (review, expected) => expect(reviewLicense(current, review)).toEqual(expected));
});

test('a reason without a rejection is dropped', () => {
  const pending = {
    trainer_license_image: null,
    trainer_license_media_id: null,
    trainer_license_approved: null,
    trainer_license_rejection_reason: null,
  };
  expect(reviewLicense(pending, { reason: 'x' })).toMatchObject({ trainer_license_rejection_reason: null });
});
