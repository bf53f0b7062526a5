// Original file: proto/media/v1/media.proto


export interface DeleteByPurposeResponse {
  'deleted'?: (boolean);
}

export interface DeleteByPurposeResponse__Output {
  'deleted': (boolean);
}
