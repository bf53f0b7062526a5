// Original file: proto/gyms/v1/gyms.proto


export interface AttachLicenseResponse {
  'current'?: (boolean);
}

export interface AttachLicenseResponse__Output {
  'current': (boolean);
}
