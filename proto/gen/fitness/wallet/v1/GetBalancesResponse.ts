// Original file: proto/wallet/v1/wallet.proto

import type { Balance as _fitness_wallet_v1_Balance, Balance__Output as _fitness_wallet_v1_Balance__Output } from '../../../fitness/wallet/v1/Balance.ts';

export interface GetBalancesResponse {
  'balances'?: (_fitness_wallet_v1_Balance)[];
}

export interface GetBalancesResponse__Output {
  'balances': (_fitness_wallet_v1_Balance__Output)[];
}
