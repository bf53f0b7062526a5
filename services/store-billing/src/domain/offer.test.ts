import { describe, expect, test } from '@jest/globals';
import { createCatalogue, endOf } from './offer.ts';

const catalogue = createCatalogue({
  premiumPlusRial: 19_990_000,
  boostBasicRial: 990_000,
  boostProRial: 1_900_000,
  boostBasicDays: 7,
  boostProDays: 30,
});
const start = new Date('2026-01-31T08:00:00Z');

describe('the catalogue', () => {
  test('the catalogue sells three SKUs, priced in Tooman', () => {
    expect(catalogue.bySku('premium_plus')).toMatchObject({
      kind: 'premium',
      type: 'plus',
      price: 1_999_000,
    });
    expect(catalogue.bySku('boost_basic')).toMatchObject({ kind: 'boost', level: 1, price: 99_000 });
    expect(catalogue.bySku('boost_pro')).toMatchObject({ kind: 'boost', level: 2, price: 190_000 });
  });

  test.each(['premium_yearly', '', 'constructor', '__proto__', 'PREMIUM_PLUS'])(
    'the catalogue has no SKU %p',
    (sku) => {
      expect(catalogue.bySku(sku)).toBeUndefined();
    },
  );

  test('premium runs for a calendar month, a boost for its days', () => {
    expect(endOf(catalogue.premium, start).toISOString()).toBe('2026-02-28T08:00:00.000Z');
    expect(endOf(catalogue.boosts.basic, start).toISOString()).toBe('2026-02-07T08:00:00.000Z');
    expect(endOf(catalogue.boosts.pro, start).toISOString()).toBe('2026-03-02T08:00:00.000Z');
  });
});
