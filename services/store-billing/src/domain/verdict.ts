/** The answer of a store about a purchase. */
type NotPurchased = 'canceled' | 'refunded' | 'pending' | 'no_such_purchase' | 'other_product';

export type Verdict =
  | { kind: 'purchased' }
  | { kind: 'not_purchased'; reason: NotPurchased }
  /** An answer with an unexpected status or body. */
  | { kind: 'unreadable'; detail: string }
  /** No answer: refused connection, timeout, 5xx, 429. */
  | { kind: 'unreachable'; detail: string }
  /** The store does not accept our own credentials. */
  | { kind: 'credentials_refused'; detail: string };
