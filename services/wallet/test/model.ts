/**
 * What a wallet may answer, in memory. Operations overlap, so that the model does not know their order; it knows when
 * each began and ended, and asks whether any order would allow the answer.
 */

/** What an operation does to the balances when it is accepted, by user. */
export type Effect = ReadonlyMap<number, number>;

interface Operation {
  name: string;
  began: number;
  ended: number;
  effect: Effect;
  accepted: boolean;
}

interface Reading {
  userId: number;
  balance: number;
  began: number;
  ended: number;
}

/** The least and the most that a wallet can hold at each tick. */
interface Bounds {
  low: number[];
  high: number[];
}

export interface Model {
  /** An operation begins; `end` says what came of it. One without effect did nothing, and nothing refused it. */
  begin(name: string, effect: Effect): { end(outcome: 'accepted' | 'refused' | 'without effect'): void };
  read(userId: number): { end(balance: number): void };
  /** Operations that have ended. */
  size(): { accepted: number; refused: number; readings: number };
  /** What every wallet holds when nothing is under way. */
  balances(): Map<number, number>;
  /** The first answer that no order of the operations allows. */
  verdict(): string | undefined;
}

export const createModel = (userIds: readonly number[]): Model => {
  const operations: Operation[] = [];
  const readings: Reading[] = [];
  let now = 0;
  const tick = (): number => {
    now += 1;
    return now;
  };

  /**
   * At least: every credit that has ended, and every debit that has begun. At most: every credit that has begun, and
   * every debit that has ended.
   */
  const boundsOf = (userId: number): Bounds => {
    const low = Array.from({ length: now + 1 }, () => 0);
    const high = [...low];
    for (const { effect, accepted, began, ended } of operations) {
      const amount = effect.get(userId) ?? 0;
      if (!accepted || amount === 0) continue;
      const [lowAt, highAt] = amount > 0 ? [ended, began] : [began, ended];
      low[lowAt] = (low[lowAt] ?? 0) + amount;
      high[highAt] = (high[highAt] ?? 0) + amount;
    }
    for (let at = 1; at <= now; at += 1) {
      low[at] = (low[at] ?? 0) + (low[at - 1] ?? 0);
      high[at] = (high[at] ?? 0) + (high[at - 1] ?? 0);
    }
    return { low, high };
  };

  const wrongOperation = (bounds: ReadonlyMap<number, Bounds>, operation: Operation): string | undefined => {
    const { name, began, ended, accepted } = operation;
    const debits = [...operation.effect].filter(([, amount]) => amount < 0);
    const couldPay = ([userId, amount]: [number, number]) =>
      Math.max(...(bounds.get(userId)?.high.slice(began, ended) ?? [])) >= -amount;
    // Of itself: an accepted debit counts in the least from its beginning on, and a refused one nowhere.
    const couldFail = ([userId, amount]: [number, number]) =>
      Math.min(...(bounds.get(userId)?.low.slice(began, ended) ?? [])) < -amount;
    if (accepted && !debits.every(couldPay)) return `${name} was accepted, and no order has the money for it`;
    if (!accepted && !debits.some(couldFail))
      return `${name} was refused, and every order has the money for it`;
    return undefined;
  };

  const wrongReading = (bounds: ReadonlyMap<number, Bounds>, reading: Reading): string | undefined => {
    const { userId, balance, began, ended } = reading;
    const { low = [], high = [] } = bounds.get(userId) ?? {};
    const [least, most] = [Math.min(...low.slice(began, ended)), Math.max(...high.slice(began, ended))];
    const possible = balance >= 0 && balance >= least && balance <= most;
    return possible
      ? undefined
      : `user ${userId} was shown ${balance}, where ${least} to ${most} are possible`;
  };

  return {
    begin: (name, effect) => {
      const began = tick();
      return {
        end: (outcome) => {
          const ended = tick();
          if (outcome === 'without effect') return;
          operations.push({ name, effect, accepted: outcome === 'accepted', began, ended });
        },
      };
    },
    read: (userId) => {
      const began = tick();
      return { end: (balance) => void readings.push({ userId, balance, began, ended: tick() }) };
    },
    size: () => {
      const accepted = operations.filter((operation) => operation.accepted).length;
      return { accepted, refused: operations.length - accepted, readings: readings.length };
    },
    balances: () => new Map(userIds.map((userId) => [userId, boundsOf(userId).low[now] ?? 0])),
    verdict: () => {
      const bounds = new Map(userIds.map((userId) => [userId, boundsOf(userId)]));
      const found = [
        ...operations.map((operation) => wrongOperation(bounds, operation)),
        ...readings.map((reading) => wrongReading(bounds, reading)),
      ];
      return found.find((wrong) => wrong !== undefined);
    },
  };
};
