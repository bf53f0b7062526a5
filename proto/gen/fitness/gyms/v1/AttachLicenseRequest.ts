// Original file: proto/gyms/v1/gyms.proto

import type { Long } from '@grpc/proto-loader';

export interface AttachLicenseRequest {
  'gym_id'?: (number | string | Long);
  'media_id'?: (number | string | Long);
  'filename'?: (string);
}

export interface AttachLicenseRequest__Output {
  'gym_id': (number);
  'media_id': (number);
  'filename': (string);
}
