import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { newGym } from './gym.ts';
import { CLEARED, createShape, toDetails, toShown, updateShape } from './gym-fields.ts';

const CREATION = { name: 'Iron', address: 'Street 1', location_lat: 35.7, location_lng: 51.4 };

test('a creation has the defaults of the contract, and clears the fields that it leaves out', () => {
  const gym = newGym(1, toDetails(z.object(createShape).parse(CREATION)), new Date(0));
  expect(gym).toMatchObject({
    name: 'Iron',
    address: 'Street 1',
    lat: 35.7,
    lng: 51.4,
    isActive: true,
    showCrowd: false,
    description: null,
    cityId: null,
    majorIds: [],
    ownerId: null,
  });
});

test('an update changes only the fields of the request, and null clears a field', () => {
  const update = (sent: object) => toDetails(z.object(updateShape).parse(sent));
  expect(update({})).toEqual({});
  expect(update({ location_lat: null, is_active: null, major_ids: null, user_id: 3 })).toEqual({
    lat: null,
    isActive: false,
    majorIds: [],
    ownerId: 3,
  });
});

test('a creation cannot set the owner', () => {
  expect(z.object(createShape).parse({ ...CREATION, user_id: 3 })).not.toHaveProperty('user_id');
});

test('the response shows fields under the names of the requests', () => {
  expect(toShown({ ...CLEARED, lat: 1, isActive: true })).toEqual({
    name: null,
    address: null,
    location_lat: 1,
    location_lng: null,
    is_active: true,
    description: null,
    show_crowd: false,
  });
});
