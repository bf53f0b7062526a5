/** Every error `code` of this release. */
export type KnownErrorCode =
  | "account_deletion_blocked"
  | "auth.second_factor_required"
  | "bad_request"
  | "internal"
  | "license_replaced"
  | "not_found"
  | "outcome_unknown"
  | "payments.already_settled"
  | "payments.boost_already_live"
  | "payments.claimed"
  | "payments.insufficient_balance"
  | "payments.own_service"
  | "payments.premium_already_active"
  | "payments.price_changed"
  | "payments.provider_error"
  | "payments.target_not_found"
  | "store_purchase.boost_already_live"
  | "store_purchase.grant_failed"
  | "store_purchase.not_found"
  | "store_purchase.premium_already_active"
  | "store_purchase.target_not_found"
  | "store_purchase.verification_failed";

/** The values of open text fields in this release, by schema and field. A later release may add values. */
export interface KnownValues {
  ClaimConflict: { code: "payments.claimed" };
  Crowd: { level: "low" | "medium" | "high" | "full" };
  DeletionBlocked: { code: "account_deletion_blocked" };
  DeletionBlocker: { code: "gym_ownership" | "unsettled_balance" | "pending_withdrawal" | "active_premium" | "active_trainees" };
  DepositResolution: { outcome: "credited" | "returned" };
  Device: { platform: "android" | "ios" | "web" };
  Forbidden: { code: "auth.second_factor_required" };
  LicenseReplaced: { code: "license_replaced" };
  Notification: { type: "account_deletion_requested" | "account_deletion_postponed" | "gym_license_reviewed" | "trainer_license_reviewed" | "deposit_credited" | "deposit_returned" | "withdrawal_paid" | "withdrawal_rejected" | "refund_resolved" | "training_service_sold" | "training_service_delivered" | "subscription_expiring" | "boost_ended" | "security_alert" };
  Payment: { type: "deposit" | "income" | "purchase" | "withdrawal" | "commission" | "store_purchase" };
  Post: { profile_type: "App\\Models\\Gym" | "App\\Models\\User" };
  ProviderError: { code: "payments.provider_error" };
  RefundConflict: { code: "payments.already_settled"; outcome: "refunded" | "granted" };
  ResolutionConflict: { code: "payments.already_settled"; outcome: "credited" | "returned" };
  ResolvedStorePurchaseRefund: { reason: "already_running" | "target_gone"; resolution: "refunded" | "granted" };
  StorePurchaseRefund: { reason: "already_running" | "target_gone" };
  Trainee: { status: "active" | "delivered" };
  Unavailable: { code: "outcome_unknown" };
  User: { gender: "male" | "female" | "other" };
  UserConflict: { code: "license_replaced" };
  WithdrawalConflict: { code: "payments.already_settled" | "payments.claimed"; outcome: "paid" | "rejected" };
}
