// Original file: proto/identity/v1/identity.proto

import type { MediaRow as _fitness_media_v1_MediaRow, MediaRow__Output as _fitness_media_v1_MediaRow__Output } from '../../../fitness/media/v1/MediaRow.ts';
import type { Subscription as _fitness_store_billing_v1_Subscription, Subscription__Output as _fitness_store_billing_v1_Subscription__Output } from '../../../fitness/store_billing/v1/Subscription.ts';
import type { HiddenUserFields as _fitness_identity_v1_HiddenUserFields, HiddenUserFields__Output as _fitness_identity_v1_HiddenUserFields__Output } from '../../../fitness/identity/v1/HiddenUserFields.ts';
import type { Long } from '@grpc/proto-loader';

export interface UserResource {
  'id'?: (number | string | Long);
  'username'?: (string);
  'first_name'?: (string);
  'last_name'?: (string);
  'created_at'?: (string);
  'referral_code'?: (string);
  'height'?: (number);
  'birth_date'?: (string);
  'gender'?: (string);
  'is_trainer'?: (boolean);
  'is_gym_owner'?: (boolean);
  'media'?: (_fitness_media_v1_MediaRow)[];
  'current_subscription'?: (_fitness_store_billing_v1_Subscription | null);
  'hidden'?: (_fitness_identity_v1_HiddenUserFields | null);
  '_height'?: "height";
  '_birth_date'?: "birth_date";
  '_gender'?: "gender";
}

export interface UserResource__Output {
  'id': (number);
  'username': (string);
  'first_name': (string);
  'last_name': (string);
  'created_at': (string);
  'referral_code': (string);
  'height'?: (number);
  'birth_date'?: (string);
  'gender'?: (string);
  'is_trainer': (boolean);
  'is_gym_owner': (boolean);
  'media': (_fitness_media_v1_MediaRow__Output)[];
  'current_subscription': (_fitness_store_billing_v1_Subscription__Output | null);
  'hidden': (_fitness_identity_v1_HiddenUserFields__Output | null);
  '_height'?: "height";
  '_birth_date'?: "birth_date";
  '_gender'?: "gender";
}
