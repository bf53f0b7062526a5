/** An instant on a page: in words, in the calendar and the time zone of its language, with the seconds in its tooltip. */
import { formatTimestamp } from '../kernel/clock.ts';
import { instantParts, type Locale } from '../kernel/i18n/translate.ts';
import { type Html, html, unbroken } from './html.ts';

/** A line breaks between the date and the time, and nowhere else. */
export const timeOf = (locale: Locale, instant: Date): Html =>
  html`<time datetime="${instant.toISOString()}" title="${formatTimestamp(instant)} UTC">${instantParts(locale, instant).map(unbroken).join(' ')}</time>`;
