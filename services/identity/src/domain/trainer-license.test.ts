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
    [{ approved: false }, outcome(false, 'blurred')],
    [{ approved: false, reason: 'torn' }, outcome(false, 'torn')],
    [{ approved: false, reason: '' }, outcome(false, 'blurred')],
    [{ approved: false, reason: null }, outcome(false, null)],
    [{ approved: true, reason: 'torn' }, outcome(true, null)],
    [{ approved: null, reason: 'torn' }, outcome(null, null)],
    [{ reason: 'torn' }, { trainer_license_rejection_reason: 'torn' }],
    [{ reason: null }, { trainer_license_rejection_reason: null }],
    [{ reason: '' }, {}],
  ])('%p', (review, expected) => expect(reviewLicense(current, review)).toEqual(expected));
});
