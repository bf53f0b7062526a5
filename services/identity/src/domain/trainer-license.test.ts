import { describe, expect, test } from '@jest/globals';
import { licenseChanges, licenseOf } from './trainer-license.ts';

const user = {
  trainer_license_image: 'l.pdf',
  trainer_license_media_id: 3,
  trainer_license_approved: false,
  trainer_license_rejection_reason: 'blurred',
  trainer_license_reviewed_name: null,
  trainer_license_newest_media_id: 5,
};
const license = {
  image: 'l.pdf',
  mediaId: 3,
  approved: false,
  rejectionReason: 'blurred',
  reviewedName: null,
  newestMediaId: 5,
};

describe('the license in the fields of an account', () => {
  test('a license is read from the fields of the account', () => expect(licenseOf(user)).toEqual(license));

  test('the newest document of a license from an older release is the attached one', () => {
    const older = { ...user, trainer_license_newest_media_id: null };
    expect(licenseOf(older)).toEqual({ ...license, newestMediaId: 3 });
  });

  test('a changed license changes only the fields in which it differs', () => {
    expect(licenseChanges(user, license)).toEqual({});
    expect(licenseChanges(user, { ...license, approved: true, rejectionReason: null })).toEqual({
      trainer_license_approved: true,
      trainer_license_rejection_reason: null,
    });
    expect(licenseChanges(user, { ...license, reviewedName: 'Sara Ahmadi', newestMediaId: 6 })).toEqual({
      trainer_license_reviewed_name: 'Sara Ahmadi',
      trainer_license_newest_media_id: 6,
    });
  });
});
