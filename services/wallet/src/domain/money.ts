/** Amounts are whole Tooman in a double: exact up to 2^53 - 1, rejected above it, never rounded. */

/** 1 Tooman = 10 Rial. */
const RIAL_PER_TOOMAN = 10;
/** Percentages are exact to four decimals. */
const PERCENT_SCALE = 10_000;

/** Thrown only because of a bug: input is validated before it becomes an amount. */
export class MoneyError extends Error {
  override name = 'MoneyError';
}

/** Returns `value`. Throws {@link MoneyError} when it is not a safe integer. */
export const exact = (value: number): number => {
  if (!Number.isSafeInteger(value)) throw new MoneyError(`Not an exact whole amount: ${value}`);
  return value;
};

/** Like {@link exact}, but throws for 0 and negative values too. */
export const positive = (value: number): number => {
  if (exact(value) <= 0) throw new MoneyError(`Not a positive amount: ${value}`);
  return value;
};

/** The exact sum. Throws {@link MoneyError} when a partial sum is not exact. */
export const sum = (amounts: Iterable<number>): number => {
  let total = 0;
  for (const amount of amounts) total = exact(total + exact(amount));
  return total;
};

export const toRial = (tooman: number): number => exact(exact(tooman) * RIAL_PER_TOOMAN);

const scaled = (percent: number): bigint => BigInt(Math.round(percent * PERCENT_SCALE));

/** The quotient of two positive numbers, with halves rounded up. */
const divided = (numerator: bigint, denominator: bigint): number =>
  exact(Number((numerator * 2n + denominator) / (denominator * 2n)));

/** `percent` of `amount`, half a Tooman rounded up. */
export const percentOf = (amount: number, percent: number): number =>
  divided(BigInt(exact(amount)) * scaled(percent), BigInt(100 * PERCENT_SCALE));

/** The tax contained in the gross `amount`; `percent` is the rate on the net amount. */
export const taxWithin = (amount: number, percent: number): number =>
  divided(BigInt(exact(amount)) * scaled(percent), BigInt(100 * PERCENT_SCALE) + scaled(percent));
