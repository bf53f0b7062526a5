/** What a store says about a purchase. */

/** Why it is no purchase to grant for. */
type NotPurchased = 'canceled' | 'refunded' | 'pending' | 'no_such_purchase' | 'other_product';

export type Verdict =
  | { kind: 'purchased' }
  | { kind: 'not_purchased'; reason: NotPurchased }
  /** It answered, and nobody can say what. */
  | { kind: 'unreadable'; detail: string }
  /** No answer: refused connection, timeout, 5xx, 429. */
  | { kind: 'unreachable'; detail: string }
  /** It does not accept our own credentials. */
  | { kind: 'credentials_refused'; detail: string };
