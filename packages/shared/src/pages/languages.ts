/** The language of a page, and the links to its other languages. */
import { negotiateLocale } from '../kernel/i18n/negotiate.ts';
import { isLocale, LOCALES, type Locale, translate } from '../kernel/i18n/translate.ts';
import { type Html, html } from './html.ts';

interface Asking {
  query: unknown;
  headers: { 'accept-language'?: string | undefined };
}

/** `?lang=` has priority over the languages of the browser. */
export const localeOfPage = ({ query, headers }: Asking): Locale => {
  const { lang } = (query ?? {}) as { lang?: unknown };
  return typeof lang === 'string' && isLocale(lang) ? lang : negotiateLocale(headers['accept-language']);
};

/** `path` with every other language; for the `aside` of a page. */
export const languageLinks = (locale: Locale, path: string): Html =>
  html`<div class="row">${LOCALES.filter((other) => other !== locale).map(
    (other) =>
      html`<a href="${path}?lang=${other}" lang="${other}" hreflang="${other}">${translate(other, 'language.name')}</a>`,
  )}</div>`;
