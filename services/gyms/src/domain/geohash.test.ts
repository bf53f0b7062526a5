import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { distanceM, encodeGeohash, neighborhood } from './geohash.ts';

/** Every run checks the same examples. */
const SEED = 20260115;

describe('geohash', () => {
  test.each([
    [{ lat: 57.64911, lng: 10.40744 }, 'u4pruydqq'],
    [{ lat: 42.605, lng: -5.603 }, 'ezs42s000'],
    [{ lat: 0, lng: 0 }, 's00000000'],
    [{ lat: -90, lng: -180 }, '000000000'],
  ])('the point %j has the geohash %s', (point, hash) => {
    expect(encodeGeohash(point)).toBe(hash);
  });

  test('the distance between Tehran and Mashhad is correct', () => {
    const km = distanceM({ lat: 35.6892, lng: 51.389 }, { lat: 36.2605, lng: 59.6168 }) / 1_000;
    expect(km).toBeGreaterThan(740);
    expect(km).toBeLessThan(745);
  });

  test('every point within the radius of a neighborhood lies in one of its cells', () => {
    const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
    fc.assert(
      fc.property(
        number(-85, 85),
        number(-180, 180),
        fc.integer({ min: 2, max: 6 }),
        number(0, 2 * Math.PI),
        number(0, 1),
        (lat, lng, length, bearing, part) => {
          const around = neighborhood({ lat, lng }, length);
          if (around === undefined) return;
          // The point at this bearing and this fraction of the radius.
          const angle = (around.radiusM * part) / 6_371_008.8;
          const [phi, lambda] = [(lat * Math.PI) / 180, (lng * Math.PI) / 180];
          const phi2 = Math.asin(
            Math.sin(phi) * Math.cos(angle) + Math.cos(phi) * Math.sin(angle) * Math.cos(bearing),
          );
          const lambda2 =
            lambda +
            Math.atan2(
              Math.sin(bearing) * Math.sin(angle) * Math.cos(phi),
              Math.cos(angle) - Math.sin(phi) * Math.sin(phi2),
            );
          const there = {
            lat: (phi2 * 180) / Math.PI,
            lng: (((((lambda2 * 180) / Math.PI + 540) % 360) + 360) % 360) - 180,
          };
          expect(around.cells).toContain(encodeGeohash(there, length));
        },
      ),
      { numRuns: 3_000, seed: SEED },
    );
  });

  test('no neighborhood crosses a pole', () => {
    expect(neighborhood({ lat: 89.9, lng: 0 }, 3)).toBeUndefined();
  });
});
