import { expect, test } from '@jest/globals';
import { matchStages, meets } from './list.ts';

test('a row meets a condition if each of its fields has the value or is in the range', () => {
  const row = { _id: 1, price: 10, level: 'easy' };
  for (const condition of [
    {},
    { level: 'easy' },
    { price: { $gte: 10 } },
    { price: { $lte: 10 } },
    { price: { $gte: 1, $lte: 10 }, level: 'easy' },
  ])
    expect([condition, meets(row, condition)]).toEqual([condition, true]);
  for (const condition of [
    { level: 'hard' },
    { price: { $gte: 11 } },
    { price: { $lte: 9 } },
    { price: { $gte: 1 }, level: 'hard' },
    { size: 1 },
    { size: { $gte: 0 } },
  ])
    expect([condition, meets(row, condition)]).toEqual([condition, false]);
});

test('the key and the first field of a condition are one stage, and each further field is another', () => {
  expect(matchStages({ facets: 'all' })).toEqual([{ $match: { facets: 'all' } }]);
  expect(matchStages({ facets: 'all' }, { price: { $lte: 10 }, level: 'easy' })).toEqual([
    { $match: { facets: 'all', price: { $lte: 10 } } },
    { $match: { level: 'easy' } },
  ]);
});
