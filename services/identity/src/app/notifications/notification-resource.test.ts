import { LOCALES, translator } from '@fitness/shared/kernel/i18n/translate.ts';
import { expect, test } from '@jest/globals';
import type { NotificationRow } from '../../store/notifications.ts';
import { toEmailTexts, toNotification } from './notification-resource.ts';

const ROW = { _id: 1, user_id: 2, type: 'security_alert', created_at: new Date(0), read_at: null } as const;

test.each(LOCALES)('a type and a change of a newer release have readable texts in %s', (locale) => {
  const type = 'of_a_newer_release' as never;
  const rows: NotificationRow[] = [
    { ...ROW, type, data: {} },
    { ...ROW, data: { change: 'of_a_newer_release', by: 'operator' } },
  ];
  for (const row of rows) {
    for (const show of [toNotification, toEmailTexts]) {
      const { title, body } = show(row, translator(locale));
      expect(`${title} ${body}`).not.toMatch(/notification\.|of_a_newer_release/);
    }
  }
});
