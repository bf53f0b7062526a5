/** The types of payments, in the order of the API document. */
export const PAYMENT_TYPES = [
  'deposit',
  'income',
  'purchase',
  'withdrawal',
  'commission',
  'store_purchase',
] as const;

export type PaymentType = (typeof PAYMENT_TYPES)[number];
