// Original file: proto/identity/v1/identity.proto

import type { Long } from '@grpc/proto-loader';

export interface User {
  'id'?: (number | string | Long);
  'email'?: (string);
  'phone'?: (string);
  'bank_account_number'?: (string);
  'username'?: (string);
  'first_name'?: (string);
  'last_name'?: (string);
  'created_at'?: (string);
  'referral_code'?: (string);
  'referrer_user_id'?: (number | string | Long);
  'height'?: (number);
  'birth_date'?: (string);
  'gender'?: (string);
  'is_trainer'?: (boolean);
  'is_gym_owner'?: (boolean);
  'deletion_requested_at'?: (string);
  'deletion_scheduled_at'?: (string);
  'operator_permissions'?: (string)[];
  '_bank_account_number'?: "bank_account_number";
  '_referrer_user_id'?: "referrer_user_id";
  '_height'?: "height";
  '_birth_date'?: "birth_date";
  '_gender'?: "gender";
  '_deletion_requested_at'?: "deletion_requested_at";
  '_deletion_scheduled_at'?: "deletion_scheduled_at";
}

export interface User__Output {
  'id': (number);
  'email': (string);
  'phone': (string);
  'bank_account_number'?: (string);
  'username': (string);
  'first_name': (string);
  'last_name': (string);
  'created_at': (string);
  'referral_code': (string);
  'referrer_user_id'?: (number);
  'height'?: (number);
  'birth_date'?: (string);
  'gender'?: (string);
  'is_trainer': (boolean);
  'is_gym_owner': (boolean);
  'deletion_requested_at'?: (string);
  'deletion_scheduled_at'?: (string);
  'operator_permissions': (string)[];
  '_bank_account_number'?: "bank_account_number";
  '_referrer_user_id'?: "referrer_user_id";
  '_height'?: "height";
  '_birth_date'?: "birth_date";
  '_gender'?: "gender";
  '_deletion_requested_at'?: "deletion_requested_at";
  '_deletion_scheduled_at'?: "deletion_scheduled_at";
}
