// Original file: proto/wallet/v1/wallet.proto


export interface GetRatesRequest {
}

export interface GetRatesRequest__Output {
}
