import Negotiator from 'negotiator';
import { DEFAULT_LOCALE, isLocale, LOCALES, type Locale } from './translate.ts';

/**
 * The language of an answer from `Accept-Language`, quality values respected. A region is ignored (`fa-IR` is `fa`);
 * no match, or no header, gives the default.
 */
export const negotiateLocale = (acceptLanguage: string | undefined): Locale => {
  if (acceptLanguage === undefined) return DEFAULT_LOCALE;
  const negotiator = new Negotiator({ headers: { 'accept-language': acceptLanguage } });
  for (const tag of negotiator.languages()) {
    // Any language but those refused (`en;q=0, *`); the default stands first among ours.
    if (tag === '*') return negotiator.languages(LOCALES).find(isLocale) ?? DEFAULT_LOCALE;
    const language = tag.split('-')[0]?.toLowerCase() ?? '';
    if (isLocale(language)) return language;
  }
  return DEFAULT_LOCALE;
};
