// Original file: proto/wallet/v1/wallet.proto

import type { Booking as _fitness_wallet_v1_Booking, Booking__Output as _fitness_wallet_v1_Booking__Output } from '../../../fitness/wallet/v1/Booking.ts';

export interface BookRequest {
  'idempotency_key'?: (string);
  'bookings'?: (_fitness_wallet_v1_Booking)[];
}

export interface BookRequest__Output {
  'idempotency_key': (string);
  'bookings': (_fitness_wallet_v1_Booking__Output)[];
}
