// Original file: proto/wallet/v1/wallet.proto


export interface GetRatesResponse {
  'gateway_fee_percent'?: (number | string);
  'commission_percent'?: (number | string);
  'vat_percent'?: (number | string);
}

export interface GetRatesResponse__Output {
  'gateway_fee_percent': (number);
  'commission_percent': (number);
  'vat_percent': (number);
}
