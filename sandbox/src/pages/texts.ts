/** The texts of the pages. They are separate from the texts of the product. */
import { negotiateLocale } from '@fitness/shared/kernel/i18n/negotiate.ts';
import { DEFAULT_LOCALE, formatNumber, type Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { unbroken } from '@fitness/shared/pages/html.ts';
import type { FastifyRequest } from 'fastify';
import type { PaymentStatus, PurchaseState, SmsMode, ZibalMode } from '../state.ts';
import { asRecord, asText } from '../wire.ts';

const en = {
  language: 'English',
  title: 'Sandbox: emulated providers',
  lead: 'SMS, emails, push messages, payments, and store purchases that the emulated providers received. No message is really sent, and no money moves.',
  reload: 'Reload the page to see new items.',
  live: 'The page shows new items as they arrive.',
  lost: 'The sandbox does not answer. The page will try again.',
  none: 'None yet.',
  more: (rest: number) => `${rest} more`,
  newest: (shown: number, total: number) => `The newest ${shown} of ${total}.`,
  sample: 'Sample app',
  apply: 'Apply',
  details: 'Details',
  forget: {
    title: 'Forget everything',
    lead: 'Deletes all messages, payments, and purchases of the sandbox, and makes every provider work again.',
    start: 'Forget…',
    confirm: 'Yes, forget everything',
  },
  sms: {
    title: 'SMS inbox',
    to: 'To',
    sent: 'Sent',
    code: 'Code',
    arrived: (receptor: string) => `New SMS to ${receptor}`,
    mode: 'The SMS provider',
    receptor: 'For this number only (optional)',
    only: (receptor: string) => `only ${receptor}`,
    modes: {
      ok: 'works',
      refuse: 'refuses messages (411)',
      unreachable: 'does not answer',
      slow: 'answers after 30 seconds',
    } satisfies Record<SmsMode, string>,
  },
  emails: {
    title: 'Email inbox',
    from: 'From',
    text: 'Text',
    arrived: (address: string) => `New email to ${address}`,
  },
  push: {
    title: 'Push messages',
    device: 'Device token',
    arrived: (title: string) => `New push message: ${title}`,
  },
  payments: {
    title: 'Payments',
    one: 'Payment',
    opened: 'Opened',
    track: 'Track ID',
    order: 'Order',
    amount: 'Amount',
    pay: 'Pay',
    cancel: 'Cancel',
    unknown: 'There is no payment with this number.',
    over: 'This payment has ended:',
    back: 'Back to the shop',
    simulated: 'This payment gateway is an emulator. No money moves.',
    mode: 'The payment gateway',
    modes: { ok: 'works', unreachable: 'does not answer' } satisfies Record<ZibalMode, string>,
    statuses: {
      [-1]: 'waiting',
      1: 'paid and verified',
      2: 'paid, not yet verified',
      3: 'canceled',
    } satisfies Record<PaymentStatus, string>,
  },
  purchases: {
    title: 'Store purchases',
    createLead: 'Each button makes a purchase with a new token in all stores at once.',
    buy: 'Buy',
    otherStates: 'Other states',
    change: 'Change the state',
    copy: 'Copy',
    copied: 'Copied',
    product: 'Product',
    consumed: 'Consumed',
    acknowledged: 'Acknowledged',
    validations: 'Validations',
    yes: 'yes',
    no: 'no',
    state: 'State',
    states: {
      purchased: 'purchased',
      canceled: 'canceled',
      refunded: 'refunded',
      pending: 'pending',
      garbage: 'unreadable answer',
      unreachable: 'no answer',
      slow: 'slow answer',
    } satisfies Record<PurchaseState, string>,
  },
  addresses: {
    title: 'Addresses of the providers',
    lead: 'For clients whose paths are fixed: each provider has a separate address and answers at its root.',
  },
  clock: {
    title: 'Clock',
    lead: 'The clock of every process of the product. It only goes forward.',
    advances: { '1h': '+1 hour', '1d': '+1 day', '14d': '+14 days', '31d': '+31 days' },
  },
  problems: { receptor: 'Enter a valid phone number.', other: 'The form was not complete. Try again.' },
};

type Texts = typeof en;

const fa: Texts = {
  language: 'فارسی',
  title: 'سندباکس: سرویس‌های شبیه‌سازی‌شده',
  lead: 'پیامک‌ها، ایمیل‌ها، اعلان‌ها، پرداخت‌ها و خریدهایی که به سرویس‌های شبیه‌سازی‌شده رسیده‌اند. پیامی واقعاً فرستاده نمی‌شود و پولی جابه‌جا نمی‌شود.',
  reload: 'برای دیدن موارد تازه صفحه را دوباره بارگذاری کنید.',
  live: 'موارد تازه خودبه‌خود نمایش داده می‌شوند.',
  lost: 'سندباکس پاسخ نمی‌دهد. صفحه دوباره تلاش می‌کند.',
  none: 'هنوز چیزی نیست.',
  more: (rest) => `${count(rest)} مورد دیگر`,
  newest: (shown, total) => `تازه‌ترین ${count(shown)} مورد از ${count(total)} مورد.`,
  sample: 'اپلیکیشن نمونه',
  apply: 'اعمال',
  details: 'جزئیات',
  forget: {
    title: 'پاک کردن همه‌چیز',
    lead: 'همهٔ پیام‌ها، پرداخت‌ها و خریدهای سندباکس پاک می‌شوند و همهٔ سرویس‌ها دوباره درست کار می‌کنند.',
    start: 'پاک کردن…',
    confirm: 'بله، همه‌چیز پاک شود',
  },
  sms: {
    title: 'صندوق پیامک',
    to: 'گیرنده',
    sent: 'زمان ارسال',
    code: 'کد',
    arrived: (receptor) => `پیامک تازه به ${receptor}`,
    mode: 'سرویس پیامک',
    receptor: 'فقط برای این شماره (اختیاری)',
    only: (receptor) => `فقط ${receptor}`,
    modes: {
      ok: 'کار می‌کند',
      refuse: 'پیام‌ها را نمی‌پذیرد (۴۱۱)',
      unreachable: 'پاسخ نمی‌دهد',
      slow: 'پس از ۳۰ ثانیه پاسخ می‌دهد',
    },
  },
  emails: {
    title: 'صندوق ایمیل',
    from: 'فرستنده',
    text: 'متن',
    arrived: (address) => `ایمیل تازه به ${address}`,
  },
  push: {
    title: 'اعلان‌های پوش',
    device: 'توکن دستگاه',
    arrived: (title) => `اعلان پوش تازه: ${title}`,
  },
  payments: {
    title: 'پرداخت‌ها',
    one: 'پرداخت',
    opened: 'زمان شروع',
    track: 'شناسهٔ پیگیری',
    order: 'سفارش',
    amount: 'مبلغ',
    pay: 'پرداخت',
    cancel: 'انصراف',
    unknown: 'پرداختی با این شماره پیدا نشد.',
    over: 'این پرداخت تمام شده است:',
    back: 'بازگشت به فروشگاه',
    simulated: 'این درگاه پرداخت شبیه‌سازی شده است و پولی جابه‌جا نمی‌شود.',
    mode: 'درگاه پرداخت',
    modes: { ok: 'کار می‌کند', unreachable: 'پاسخ نمی‌دهد' },
    statuses: {
      [-1]: 'در انتظار',
      1: 'پرداخت‌شده و تأییدشده',
      2: 'پرداخت‌شده، هنوز تأیید نشده',
      3: 'لغوشده',
    },
  },
  purchases: {
    title: 'خریدهای فروشگاه',
    createLead: 'هر دکمه یک خرید با توکن تازه می‌سازد که در همهٔ فروشگاه‌ها معتبر است.',
    buy: 'خرید',
    otherStates: 'وضعیت‌های دیگر',
    change: 'تغییر وضعیت',
    copy: 'کپی',
    copied: 'کپی شد',
    product: 'محصول',
    consumed: 'مصرف‌شده',
    acknowledged: 'دریافت تأیید شده',
    validations: 'دفعات اعتبارسنجی',
    yes: 'بله',
    no: 'خیر',
    state: 'وضعیت',
    states: {
      purchased: 'خریداری‌شده',
      canceled: 'لغوشده',
      refunded: 'بازپرداخت‌شده',
      pending: 'در انتظار',
      garbage: 'پاسخ ناخوانا',
      unreachable: 'بدون پاسخ',
      slow: 'پاسخ کند',
    },
  },
  addresses: {
    title: 'نشانی سرویس‌ها',
    lead: 'برای کلاینت‌هایی که مسیرهایشان ثابت است: هر سرویس نشانی جداگانه‌ای دارد و از ریشهٔ آن پاسخ می‌دهد.',
  },
  clock: {
    title: 'ساعت',
    lead: 'ساعت همهٔ سرویس‌ها. فقط جلو می‌رود.',
    advances: { '1h': '+۱ ساعت', '1d': '+۱ روز', '14d': '+۱۴ روز', '31d': '+۳۱ روز' },
  },
  problems: { receptor: 'شمارهٔ موبایل را درست وارد کنید.', other: 'فرم کامل نبود. دوباره تلاش کنید.' },
};

const TEXTS: Readonly<Record<Locale, Texts>> = { en, fa };

const count = (value: number): string => formatNumber('fa', value);

export const PAGE_LOCALES = Object.keys(TEXTS);

export const textsOf = (locale: Locale): Texts => TEXTS[locale] ?? en;

/** 1 Tooman = 10 Rial: the gateway uses Rial, the product Tooman. */
export const formatRial = (locale: Locale, amount: number): string => {
  const [rial, tooman] = locale === 'fa' ? ['ریال', 'تومان'] : ['Rial', 'Tooman'];
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
