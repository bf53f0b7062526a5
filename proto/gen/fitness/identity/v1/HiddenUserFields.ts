// Original file: proto/identity/v1/identity.proto

import type { Role as _fitness_identity_v1_Role, Role__Output as _fitness_identity_v1_Role__Output } from '../../../fitness/identity/v1/Role.ts';
import type { Long } from '@grpc/proto-loader';

export interface HiddenUserFields {
  'email'?: (string);
  'phone'?: (string);
  'bank_account_number'?: (string);
  'trainer_license_image'?: (string);
  'trainer_license_link'?: (string);
  'trainer_license_approved'?: (boolean);
  'trainer_license_rejection_reason'?: (string);
  'referrer_user_id'?: (number | string | Long);
  'referral_score'?: (number | string);
  'referrals_count'?: (number | string | Long);
  'roles'?: (_fitness_identity_v1_Role)[];
  'deletion_requested_at'?: (string);
  'deletion_scheduled_at'?: (string);
  '_bank_account_number'?: "bank_account_number";
  '_trainer_license_image'?: "trainer_license_image";
  '_trainer_license_link'?: "trainer_license_link";
  '_trainer_license_approved'?: "trainer_license_approved";
  '_trainer_license_rejection_reason'?: "trainer_license_rejection_reason";
  '_referrer_user_id'?: "referrer_user_id";
  '_deletion_requested_at'?: "deletion_requested_at";
  '_deletion_scheduled_at'?: "deletion_scheduled_at";
}

export interface HiddenUserFields__Output {
  'email': (string);
  'phone': (string);
  'bank_account_number'?: (string);
  'trainer_license_image'?: (string);
  'trainer_license_link'?: (string);
  'trainer_license_approved'?: (boolean);
  'trainer_license_rejection_reason'?: (string);
  'referrer_user_id'?: (number);
  'referral_score': (number);
  'referrals_count': (number);
  'roles': (_fitness_identity_v1_Role__Output)[];
  'deletion_requested_at'?: (string);
  'deletion_scheduled_at'?: (string);
  '_bank_account_number'?: "bank_account_number";
  '_trainer_license_image'?: "trainer_license_image";
  '_trainer_license_link'?: "trainer_license_link";
  '_trainer_license_approved'?: "trainer_license_approved";
  '_trainer_license_rejection_reason'?: "trainer_license_rejection_reason";
  '_referrer_user_id'?: "referrer_user_id";
  '_deletion_requested_at'?: "deletion_requested_at";
  '_deletion_scheduled_at'?: "deletion_scheduled_at";
}
