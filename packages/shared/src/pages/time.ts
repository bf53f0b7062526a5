/** An instant on a page: in words, in the calendar and the time zone of its language, and to the second for those who point at it. */
import { formatTimestamp } from '../kernel/clock.ts';
import { formatInstant, type Locale } from '../kernel/i18n/translate.ts';
import { type Html, html } from './html.ts';

export const timeOf = (locale: Locale, instant: Date): Html =>
  html`<time datetime="${instant.toISOString()}" title="${formatTimestamp(instant)} UTC">${formatInstant(locale, instant)}</time>`;
