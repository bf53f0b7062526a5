/** Amounts are whole Tooman in a double: exact up to 2^53 - 1, refused above it, never rounded. */

/** 1 Tooman = 10 Rial. */
const RIAL_PER_TOOMAN = 10;
/** Percentages are exact to four decimals. */
const PERCENT_SCALE = 10_000;

/** A programmer's error: no input from outside may come this far. */
export class MoneyError extends Error {
  override name = 'MoneyError';
}

/** `value` itself. Throws {@link MoneyError} when a double does not hold it exactly as a whole number. */
export const exact = (value: number): number => {
  if (!Number.isSafeInteger(value)) throw new MoneyError(`Not an exact whole amount: ${value}`);
  return value;
};

/** As {@link exact}, and above zero. */
export const positive = (value: number): number => {
  if (exact(value) <= 0) throw new MoneyError(`Not a positive amount: ${value}`);
  return value;
};

/** The exact sum. Every partial sum of two exact values that is not exact itself is refused. */
export const sum = (amounts: Iterable<number>): number => {
  let total = 0;
  for (const amount of amounts) total = exact(total + exact(amount));
  return total;
};

export const toRial = (tooman: number): number => exact(exact(tooman) * RIAL_PER_TOOMAN);

const scaled = (percent: number): bigint => BigInt(Math.round(percent * PERCENT_SCALE));

/** `numerator / denominator`, both positive, half rounded up. */
const divided = (numerator: bigint, denominator: bigint): number =>
  exact(Number((numerator * 2n + denominator) / (denominator * 2n)));

/** `percent` of `amount`, half a Tooman rounded up. */
export const percentOf = (amount: number, percent: number): number =>
  divided(BigInt(exact(amount)) * scaled(percent), BigInt(100 * PERCENT_SCALE));

/** The tax inside `amount`, where `amount` is what is paid and `percent` the rate on what is without it. */
export const taxWithin = (amount: number, percent: number): number =>
  divided(BigInt(exact(amount)) * scaled(percent), BigInt(100 * PERCENT_SCALE) + scaled(percent));
