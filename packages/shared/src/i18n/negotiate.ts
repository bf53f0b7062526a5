import Negotiator from 'negotiator';
import { DEFAULT_LOCALE, isLocale, type Locale } from './translate.ts';

/**
 * The language of an answer from `Accept-Language`, quality values respected. A region is ignored (`fa-IR` is `fa`);
 * no match, or no header, gives the default.
 */
export const negotiateLocale = (acceptLanguage: string | undefined): Locale => {
  if (acceptLanguage === undefined) return DEFAULT_LOCALE;
  const wanted = new Negotiator({ headers: { 'accept-language': acceptLanguage } }).languages();
  for (const tag of wanted) {
    if (tag === '*') return DEFAULT_LOCALE;
    const language = tag.split('-')[0]?.toLowerCase() ?? '';
    if (isLocale(language)) return language;
  }
  return DEFAULT_LOCALE;
};
