/** Payments, prices and store purchases. */
import { PUBLIC_USER, SUBSCRIPTION } from './people.ts';

const PAYMENT = {
  id: 501,
  user_id: 12,
  user: PUBLIC_USER,
  type: 'deposit',
  amount: 50_000,
  description: 'Wallet deposit',
  payable_type: null,
  payable_id: null,
  meta: { amount: 50_000, gateway_fee: 500, payable_amount: 50_500 },
  is_done: false,
  rejected_at: null,
  created_at: '2026-03-01 08:30:00',
};
const REFUND = {
  id: 2,
  channel: 'cafebazaar',
  product_id: 'boost_pro',
  purchase_token: 'mQ8fT2xN5aKc',
  user_id: 12,
  boostable_type: 'gym',
  boostable_id: 5,
  reason: 'target_gone',
  created_at: '2026-03-01 08:30:00',
};

export const MONEY = {
  Payment: PAYMENT,
  PaymentMeta: PAYMENT.meta,
  Balance: { balance: 130_000 },
  RequestedDeposit: { payment: PAYMENT, payment_url: 'https://gateway.zibal.ir/start/3714061294' },
  Prices: {
    premium: { plus: 99_000 },
    boosts: { basic: 49_000, pro: 89_000 },
    gateway_fee_percent: 1,
    commission_percent: 10,
    vat_percent: 10,
  },
  DisputedDeposit: {
    payment: PAYMENT,
    track_id: '3714061294',
    reported: {
      charged_rial: 3_030_000_000,
      order_id: '501-5f0c2e9b7a1d4c86e3b2f790',
      ref_number: '109823',
      card_number: '603799******1234',
      paid_at: '2026-03-01T08:31:02.000Z',
    },
  },
  StorePurchaseGrant: SUBSCRIPTION,
  StorePurchaseRefund: REFUND,
  ResolvedStorePurchaseRefund: {
    ...REFUND,
    resolution: 'refunded',
    note: 'Refunded in the store’s console.',
    resolved_by: 3,
    resolved_at: '2026-03-02 10:00:00',
  },
};
