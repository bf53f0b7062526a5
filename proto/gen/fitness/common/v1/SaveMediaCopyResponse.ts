// Original file: proto/common/v1/media_copies.proto


export interface SaveMediaCopyResponse {
}

export interface SaveMediaCopyResponse__Output {
}
