// Original file: proto/identity/v1/identity.proto

import type { Long } from '@grpc/proto-loader';

export interface AttachLicenseRequest {
  'user_id'?: (number | string | Long);
  'media_id'?: (number | string | Long);
  'filename'?: (string);
}

export interface AttachLicenseRequest__Output {
  'user_id': (number);
  'media_id': (number);
  'filename': (string);
}
