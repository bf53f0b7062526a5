/** The payments for a training service, in whole Tooman. */
import { MODEL } from '@fitness/contracts/model-names.ts';

export interface Sale {
  traineeId: number;
  trainingServiceId: number;
  title: string;
  sellerUserId: number;
  buyerUserId: number;
  price: number;
  commission: number;
}

export interface SaleBooking {
  user_id: number;
  type: 'purchase' | 'income' | 'commission';
  amount: number;
  description: string;
  payable_type: string;
  payable_id: number;
}

const PERCENT_SCALE = 1_000_000;

/** `percent` of `price`, rounded down. Integers, because a percentage such as 2.9 is not exact as a double. */
export const commissionOf = (price: number, percent: number): number => {
  const scaled = BigInt(Math.round(percent * PERCENT_SCALE));
  return Number((BigInt(price) * scaled) / BigInt(100 * PERCENT_SCALE));
};

/** The idempotency key at the wallet: the same for every retry of one sale. */
export const saleKey = (traineeId: number): string => `training-sale:${traineeId}`;

/** The buyer pays the price, the seller receives it and pays the commission. There is no booking of 0 Tooman. */
export const saleBookings = (sale: Sale): SaleBooking[] => {
  const common = {
    description: sale.title,
    payable_type: MODEL.trainingService,
    payable_id: sale.trainingServiceId,
  };
  const bookings: SaleBooking[] = [
    { user_id: sale.buyerUserId, type: 'purchase', amount: sale.price, ...common },
    { user_id: sale.sellerUserId, type: 'income', amount: sale.price, ...common },
    { user_id: sale.sellerUserId, type: 'commission', amount: sale.commission, ...common },
  ];
  return bookings.filter(({ amount }) => amount > 0);
};
