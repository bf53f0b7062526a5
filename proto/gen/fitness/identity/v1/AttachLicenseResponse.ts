// Original file: proto/identity/v1/identity.proto


export interface AttachLicenseResponse {
  'current'?: (boolean);
}

export interface AttachLicenseResponse__Output {
  'current': (boolean);
}
