/** The response of a store about a purchase. */
type NotPurchased = 'canceled' | 'refunded' | 'pending' | 'no_such_purchase' | 'other_product';

/** How an unpaid purchase came about: by a tester of the app, with a promotion code, or for watching an ad. */
export type Unpaid = 'test' | 'promo' | 'rewarded';

export interface Purchased {
  kind: 'purchased';
  /** Absent if paid. */
  unpaid?: Unpaid;
  /** Absent if one. */
  quantity?: number;
}

export type Verdict =
  | Purchased
  | { kind: 'not_purchased'; reason: NotPurchased }
  /** An answer with an unexpected status or body. */
  | { kind: 'unreadable'; detail: string }
  /** No answer, or one that asks to try again: refused connection, timeout, 5xx, 429, an exhausted quota. */
  | { kind: 'unreachable'; detail: string }
  /** The store rejects our credentials or does not know our app. Our fault, never a verdict on the purchase. */
  | { kind: 'credentials_refused'; detail: string };
