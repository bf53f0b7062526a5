import Negotiator from 'negotiator';
import { DEFAULT_LOCALE, isLocale, LOCALES, type Locale } from './translate.ts';

/**
 * The language of a response, chosen by `Accept-Language` with its quality values. A region is ignored: `fa-IR` is `fa`.
 * So is `fa_IR`, which clients send when they pass on the name of their locale.
 * Without a match or a header, the default language is used.
 */
export const negotiateLocale = (acceptLanguage: string | undefined): Locale => {
  if (acceptLanguage === undefined) return DEFAULT_LOCALE;
  const cached = negotiated.get(acceptLanguage);
  if (cached !== undefined) return cached;
  const locale = negotiate(acceptLanguage);
  if (acceptLanguage.length <= MAX_KEPT_LENGTH) {
    if (negotiated.size >= MAX_KEPT) negotiated.clear();
    negotiated.set(acceptLanguage, locale);
  }
  return locale;
};

/** Browsers send few different headers. */
const negotiated = new Map<string, Locale>();
const MAX_KEPT = 1_000;
const MAX_KEPT_LENGTH = 200;

const negotiate = (acceptLanguage: string): Locale => {
  const negotiator = new Negotiator({ headers: { 'accept-language': acceptLanguage } });
  for (const tag of negotiator.languages()) {
    // The default, or another language if it has q=0 (`en;q=0, *`).
    if (tag === '*')
      return negotiator.languages([DEFAULT_LOCALE, ...LOCALES]).find(isLocale) ?? DEFAULT_LOCALE;
    const language = tag.split(/[-_]/)[0]?.toLowerCase() ?? '';
    if (isLocale(language)) return language;
  }
  return DEFAULT_LOCALE;
};
