// Original file: proto/identity/v1/identity.proto


export interface DeletionBlocker {
  'code'?: (string);
  'extras_json'?: (string);
}

export interface DeletionBlocker__Output {
  'code': (string);
  'extras_json': (string);
}
