/** The texts of the pages, which are separate from those of the product. `{name}` in a text is a parameter. */
import { negotiateLocale } from '@fitness/shared/kernel/i18n/negotiate.ts';
import { DEFAULT_LOCALE, formatNumber, type Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { unbroken } from '@fitness/shared/pages/html.ts';
import type { FastifyRequest } from 'fastify';
import type { PaymentStatus, PurchaseState, SmsMode, ZibalMode } from '../state.ts';
import { asRecord, asText } from '../wire.ts';
import en from './texts/en.json' with { type: 'json' };
import fa from './texts/fa.json' with { type: 'json' };

/** A text for each key, and for no other one. */
type Each<Key extends string | number, Texts> = Record<Key, string> &
  Record<Exclude<keyof Texts, `${Key}`>, never>;

/** The type check names a text that one of the languages or a state lacks, and a text of no state. */
const TEXTS: Readonly<Record<Locale, typeof en>> = { en, fa } satisfies Record<
  Locale,
  typeof en &
    typeof fa & {
      sms: { modes: Each<SmsMode, typeof en.sms.modes> };
      payments: {
        modes: Each<ZibalMode, typeof en.payments.modes>;
        statuses: Each<PaymentStatus, typeof en.payments.statuses>;
      };
      purchases: { states: Each<PurchaseState, typeof en.purchases.states> };
    }
>;

export const PAGE_LOCALES = Object.keys(TEXTS);

export const textsOf = (locale: Locale): typeof en => TEXTS[locale] ?? en;

/** Writes numbers in the digits of the language. */
export const fill = (
  locale: Locale,
  text: string,
  params: Readonly<Record<string, string | number>>,
): string =>
  text.replace(/\{(\w+)\}/g, (place, name: string) => {
    const value = params[name] ?? place;
    return typeof value === 'number' ? formatNumber(locale, value) : value;
  });

/** 1 Tooman = 10 Rial: the gateway uses Rial, the product Tooman. */
export const formatRial = (locale: Locale, amount: number): string => {
  const { rial, tooman } = textsOf(locale).payments;
  const inUnit = (value: number, unit: string): string => unbroken(`${formatNumber(locale, value)} ${unit}`);
  return `${inUnit(amount, rial)} (${inUnit(amount / 10, tooman)})`;
};

/** `?lang=` of the page's own links has priority over the browser's languages. */
export const localeOf = ({ query, headers }: FastifyRequest): Locale => {
  const chosen = asText(asRecord(query).lang);
  if (PAGE_LOCALES.includes(chosen)) return chosen;
  const preferred = negotiateLocale(headers['accept-language']);
  return PAGE_LOCALES.includes(preferred) ? preferred : DEFAULT_LOCALE;
};
