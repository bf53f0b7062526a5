/** The operations that accept an `Idempotency-Key`. */
export const IDEMPOTENT: ReadonlySet<string> = new Set([
  "POST /api/v1/payments/boost",
  "POST /api/v1/payments/buy-premium",
  "POST /api/v1/payments/deposit",
  "POST /api/v1/payments/store-purchases/refund-queue/{id}/resolve",
  "POST /api/v1/payments/withdrawals",
  "POST /api/v1/payments/{id}/pay",
  "POST /api/v1/payments/{id}/reject",
  "POST /api/v1/payments/{id}/resolve",
  "POST /api/v1/training-services/{id}/purchase"
]);
