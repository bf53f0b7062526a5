import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { WalletClient as _fitness_wallet_v1_WalletClient, WalletDefinition as _fitness_wallet_v1_WalletDefinition } from './fitness/wallet/v1/Wallet.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  fitness: {
    wallet: {
      v1: {
        BookRequest: MessageTypeDefinition
        BookResponse: MessageTypeDefinition
        Booking: MessageTypeDefinition
        GetRatesRequest: MessageTypeDefinition
        GetRatesResponse: MessageTypeDefinition
        Wallet: SubtypeConstructor<typeof grpc.Client, _fitness_wallet_v1_WalletClient> & { service: _fitness_wallet_v1_WalletDefinition }
      }
    }
  }
}

