import { expect, test } from '@jest/globals';
import { type Boost, boostState, NEVER_BOOSTED, withBoost } from './boost.ts';

const boost = (id: number, version: number, level: number, endsAt: number): Boost => ({
  id,
  version,
  level,
  endsAt: new Date(endsAt),
});

test('a gym without boosts was never boosted', () => {
  expect(boostState([])).toEqual(NEVER_BOOSTED);
});

test('an older or repeated event of a boost changes nothing', () => {
  const ended = [boost(1, 2, 2, 100)];
  expect(withBoost(ended, boost(1, 1, 2, 900))).toBeUndefined();
  expect(withBoost(ended, boost(1, 2, 2, 900))).toBeUndefined();
});

test('the boost that ends last decides, in whatever order the events arrive', () => {
  const events = [boost(1, 1, 2, 900), boost(1, 2, 2, 100), boost(2, 1, 1, 500)];
  const orders = [
    [0, 1, 2],
    [1, 0, 2],
    [2, 1, 0],
    [1, 2, 0],
  ] as const;
  for (const order of orders) {
    const boosts = order.reduce<Boost[]>((current, index) => {
      const event = events[index];
      return (event && withBoost(current, event)) ?? current;
    }, []);
    const last = { id: 2, level: 1, endsAt: new Date(500) };
    expect(boostState(boosts)).toEqual({ boostedUntil: new Date(500), boostLevel: 1, boost: last });
  }
});
