import { expect, test } from '@jest/globals';
import { createMemoryReturn } from './memory.ts';

const MIB = 1024 * 1024;

const processOf = ({ resident, settles }: { resident: number; settles: number }) => {
  const state = { busy: 0, resident, collections: 0 };
  const interval = createMemoryReturn({
    collect: () => {
      state.collections += 1;
      state.resident = settles;
    },
    busy: () => state.busy,
    residentBytes: () => state.resident,
  });
  const check = (intervals = 3): void => {
    for (let passed = 0; passed < intervals; passed += 1) interval();
  };
  return { state, check };
};

test('what a start has left behind is given back when the process rests', () => {
  const { state, check } = processOf({ resident: 140 * MIB, settles: 110 * MIB });
  state.busy = 0.5;
  check();
  expect(state.collections).toBe(0);
  state.busy = 0.01;
  check();
  expect(state).toMatchObject({ collections: 1, resident: 110 * MIB });
});

test('a pause between two rushes is no rest', () => {
  const { state, check } = processOf({ resident: 140 * MIB, settles: 110 * MIB });
  for (let rush = 0; rush < 5; rush += 1) {
    check(2);
    state.busy = 0.9;
    check(1);
    state.busy = 0;
  }
  expect(state.collections).toBe(0);
  check(3);
  expect(state.collections).toBe(1);
});

test('a process at rest is left alone until it has grown', () => {
  const { state, check } = processOf({ resident: 140 * MIB, settles: 110 * MIB });
  check();
  state.resident = 117 * MIB;
  check();
  check();
  expect(state.collections).toBe(1);
  state.resident = 119 * MIB;
  check();
  expect(state.collections).toBe(2);
});

test('a rush of requests is not interrupted', () => {
  const { state, check } = processOf({ resident: 140 * MIB, settles: 110 * MIB });
  check();
  Object.assign(state, { resident: 300 * MIB, busy: 0.9 });
  check();
  expect(state.collections).toBe(1);
  state.busy = 0.02;
  check();
  expect(state).toMatchObject({ collections: 2, resident: 110 * MIB });
});
