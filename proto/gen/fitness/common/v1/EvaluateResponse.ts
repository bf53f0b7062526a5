// Original file: proto/common/v1/blockers.proto


export interface EvaluateResponse {
  'applies'?: (boolean);
  'extras_json'?: (string);
}

export interface EvaluateResponse__Output {
  'applies': (boolean);
  'extras_json': (string);
}
