import { CATALOGUES } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { expect, test } from '@jest/globals';

/** A locked phone shows these texts, and Firebase, Apple and email relays can read them. */
const ALLOWED = new Set([
  'amount',
  'deletion_scheduled_at',
  'expires_at',
  'gym_name',
  'name',
  'reason',
  'title',
]);

test.each([...CATALOGUES])(
  'notifications in %s contain no parameters except amounts, dates, titles and reasons',
  (_locale, catalogue) => {
    const texts = Object.entries(catalogue).filter(([key]) => key.startsWith('notification.'));
    const violations = texts.flatMap(([key, text]) =>
      [...text.matchAll(/\{(\w+)\}/g)]
        .filter(([, name = '']) => !ALLOWED.has(name))
        .map(() => `${key}: ${text}`),
    );
    expect(texts.length).toBeGreaterThan(40);
    expect(violations).toEqual([]);
  },
);
