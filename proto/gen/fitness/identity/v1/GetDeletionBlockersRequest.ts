// Original file: proto/identity/v1/identity.proto


export interface GetDeletionBlockersRequest {
}

export interface GetDeletionBlockersRequest__Output {
}
