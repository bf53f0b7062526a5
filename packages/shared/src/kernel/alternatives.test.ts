import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { alternatives } from './alternatives.ts';
import { parseConfig } from './config.ts';

const speed = z.coerce.number();
const walker = { name: 'walker', variables: { WALKER_SPEED: speed.default(5) } } as const;
const rider = {
  name: 'rider',
  variables: { RIDER_BIKE: z.string(), RIDER_SPEED: speed.default(20) },
} as const;

const { names, shape, requireChosen, chosen } = alternatives('COURIER', [walker, rider]);
const read = (env: Record<string, string>) => parseConfig(z.object(shape).superRefine(requireChosen), env);

test('the first member is the default, and the others require nothing', () => {
  expect(names).toEqual(['walker', 'rider']);
  expect(read({})).toEqual({ COURIER: 'walker', WALKER_SPEED: 5, RIDER_SPEED: 20 });
  expect(chosen(read({})).name).toBe('walker');
});

test('the chosen member requires its variables without a default, each by name', () => {
  expect(() => read({ COURIER: 'rider' })).toThrow('RIDER_BIKE: is needed with COURIER=rider');
  expect(chosen(read({ COURIER: 'rider', RIDER_BIKE: 'red' })).name).toBe('rider');
});

test('an unknown member is refused', () => {
  expect(() => read({ COURIER: 'pigeon' })).toThrow('COURIER: ');
});
