/**
 * An in-memory model of the wallets. The order of overlapping operations is unknown. The model records when each one
 * began and ended, and checks that some order allows each response.
 */

/** How an accepted operation changes the balances, keyed by user id. */
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

/** The lowest and the highest possible balance at each tick. */
interface Bounds {
  low: number[];
  high: number[];
}

export interface Model {
  /** An operation begins; `end` records its outcome. `without effect`: neither accepted nor refused. */
  begin(name: string, effect: Effect): { end(outcome: 'accepted' | 'refused' | 'without effect'): void };
  read(userId: number): { end(balance: number): void };
  /** Numbers of ended operations. */
  size(): { accepted: number; refused: number; readings: number };
  /** The balances when no operation is running. */
  balances(): Map<number, number>;
  /** The first response that no order of the operations allows, or undefined. */
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

  /** Lowest: ended credits and begun debits. Highest: begun credits and ended debits. */
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
    // A refused debit is not part of the bounds, so `low` excludes the operation itself.
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
      const problems = [
        ...operations.map((operation) => wrongOperation(bounds, operation)),
        ...readings.map((reading) => wrongReading(bounds, reading)),
      ];
      return problems.find((problem) => problem !== undefined);
    },
  };
};
