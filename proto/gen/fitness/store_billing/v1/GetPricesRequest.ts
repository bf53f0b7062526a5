// Original file: proto/store_billing/v1/store_billing.proto


export interface GetPricesRequest {
}

export interface GetPricesRequest__Output {
}
