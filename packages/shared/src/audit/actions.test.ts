import { expect, test } from '@jest/globals';
import { changesOf } from './actions.ts';

const gym = { name: 'Iron', license: { approved: null, image: 'a.pdf' }, majors: [1, 2], version: 1 };

test('changes are the changed fields by their path, without counters and times', () => {
  const after = {
    ...gym,
    license: { ...gym.license, approved: true },
    majors: [1],
    version: 2,
    updatedAt: new Date(1),
  };
  expect(changesOf(gym, after)).toEqual({
    before: { 'license.approved': null, majors: [1, 2] },
    after: { 'license.approved': true, majors: [1] },
  });
  expect(changesOf(gym, after, (path) => path === 'majors')?.after).toEqual({ majors: [1] });
});

test('a field that appears or disappears is null on the other side', () => {
  const crowd = { current: 1, capacity: 5 };
  const after = { 'crowd.current': 1, 'crowd.capacity': 5 };
  const before = { 'crowd.current': null, 'crowd.capacity': null };
  expect(changesOf({ crowd: null }, { crowd })).toEqual({ before, after });
  expect(changesOf({ crowd }, { crowd: null })).toEqual({ before: after, after: before });
});

test('equal values are not a change, including dates and lists', () => {
  expect(changesOf({ at: new Date(5), list: [1] }, { at: new Date(5), list: [1] })).toBeUndefined();
  expect(changesOf({ at: new Date(5) }, { at: new Date(6) })?.after).toEqual({ at: new Date(6) });
  expect(changesOf({ a: undefined }, { a: null })).toBeUndefined();
});
