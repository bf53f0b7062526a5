/** The language of a page, and the links to its other languages. */
import { negotiateLocale } from '../kernel/i18n/negotiate.ts';
import { isLocale, LOCALES, type Locale, translate } from '../kernel/i18n/translate.ts';
import { type Html, html } from './html.ts';

interface PageRequest {
  query: unknown;
  headers: { 'accept-language'?: string | undefined };
}

/** `?lang=` has priority over the languages of the browser. */
export const localeOfPage = ({ query, headers }: PageRequest): Locale => {
  const { lang } = (query ?? {}) as { lang?: unknown };
  return typeof lang === 'string' && isLocale(lang) ? lang : negotiateLocale(headers['accept-language']);
};

/** A path with or without a query, in another language. */
export const inLanguage = (locale: Locale, path: string): string => {
  const [before = '', query = ''] = path.split('?');
  const params = new URLSearchParams(query);
  params.set('lang', locale);
  return `${before}?${params}`;
};

/** `path` with every other language; for the `aside` of a page. */
export const languageLinks = (locale: Locale, path: string): Html =>
  html`<div class="row">${LOCALES.filter((other) => other !== locale).map(
    (other) =>
      html`<a href="${inLanguage(other, path)}" lang="${other}" hreflang="${other}">${translate(other, 'language.name')}</a>`,
  )}</div>`;
