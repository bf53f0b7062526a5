import { CATALOGUES } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { expect, test } from '@jest/globals';
import { EMAIL_PARAMS } from './notification-resource.ts';

test.each([...CATALOGUES])(
  'emails in %s have fixed texts whose only parameters are amounts and times',
  (_locale, catalogue) => {
    const texts = Object.entries(catalogue).filter(
      ([key]) =>
        /^notification\..*\.(?:title|email)$/.test(key) ||
        (/^notification\..*\.body$/.test(key) && !(key.replace(/body$/, 'email') in catalogue)),
    );
    const others = texts.flatMap(([key, text]) =>
      [...text.matchAll(/\{(\w+)\}/g)].filter(([, name = '']) => !EMAIL_PARAMS.includes(name)).map(() => key),
    );
    expect(texts.length).toBeGreaterThan(40);
    expect(others).toEqual([]);
  },
);
