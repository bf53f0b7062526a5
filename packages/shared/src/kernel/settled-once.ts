/**
 * Decisions of operators about money outside the product, such as a bank transfer. Each is stored once. The same operator may repeat the
 * same decision, for example after a lost response. Any other attempt gets a 409 with who has decided, because the money may have been sent twice.
 */
import { formatTimestampOrNull } from './clock.ts';
import { AppError, message } from './error.ts';

export interface DecisionAttempt {
  operatorId: number;
  outcome: string;
  /** The bank's reference, the reason or the note. */
  text: string | null;
  /** `Idempotency-Key` of the request, which recognizes a repeat without a text. */
  key: string | undefined;
}

/** Computes a value that only this process can compute, so a stored one does not reveal a text that is easy to guess. */
export type KeyedDigest = (purpose: string, text: string) => string;

/**
 * What a decision is recognized by. It outlives the text, which an erasure of the account removes. Null if the request has nothing to
 * recognize it by; it can then not be repeated.
 */
export const decisionMark = (
  digest: KeyedDigest,
  subject: string,
  { operatorId, outcome, text, key }: DecisionAttempt,
): string | null => {
  const recognized = text === null ? key && `key ${key}` : `text ${text}`;
  return recognized === undefined || recognized === ''
    ? null
    : digest('decisions', JSON.stringify([subject, operatorId, outcome, recognized]));
};

export interface MadeDecision {
  outcome: string;
  /** Null for a decision without an operator, and for one of an older release. */
  operatorId: number | null;
  at: Date | null;
  /** Undefined for one of an older release. */
  mark: string | null | undefined;
  /** `reference` or `note`, with its text. Null once the account is erased. */
  text: Readonly<Record<string, string | null>>;
}

export const isRepeatOf = (made: MadeDecision, mark: string | null): boolean =>
  mark !== null && made.mark === mark;

const ALREADY_SETTLED = 'payments.already_settled';

/** 409 with who decided what, when, and with which text. */
export const alreadySettled = ({ outcome, operatorId, at, text }: MadeDecision): AppError => {
  const words = message(ALREADY_SETTLED);
  return new AppError({
    kind: 'conflict',
    code: ALREADY_SETTLED,
    message: words,
    body: (t) => ({
      message: t(words),
      code: ALREADY_SETTLED,
      settled_by: operatorId,
      settled_at: formatTimestampOrNull(at),
      outcome,
      ...text,
    }),
  });
};
