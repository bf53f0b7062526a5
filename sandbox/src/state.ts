/** The state of the emulated providers: in memory, bounded, and reset on demand. */
import type { Clock } from '@fitness/shared/kernel/clock.ts';

export const SMS_MODES = ['ok', 'refuse', 'unreachable', 'slow'] as const;
export const ZIBAL_MODES = ['ok', 'unreachable'] as const;
export const PURCHASE_STATES = [
  'purchased',
  'canceled',
  'refunded',
  'pending',
  'garbage',
  'unreachable',
  'slow',
] as const;

export const PUSH_MODES = [
  'ok',
  'unregistered',
  'sender_mismatch',
  'invalid_argument',
  'quota',
  'unavailable',
  'unreachable',
  'slow',
  'unanswered',
] as const;
export const EMAIL_MODES = ['ok', 'refuse', 'busy', 'slow', 'unanswered'] as const;

export type PushMode = (typeof PUSH_MODES)[number];
export type EmailMode = (typeof EMAIL_MODES)[number];
export type SmsMode = (typeof SMS_MODES)[number];
export type ZibalMode = (typeof ZIBAL_MODES)[number];
export type PurchaseState = (typeof PURCHASE_STATES)[number];

export interface Sms {
  messageId: number;
  /** E.164, however the sender wrote it. */
  receptor: string;
  message: string;
  code: string | null;
  sentAt: Date;
}

export interface Push {
  id: number;
  /** The registration token of the device. */
  token: string;
  title: string;
  body: string;
  data: Record<string, string>;
  /** A device replaces a message with a later one that has the same tag. */
  tag: string | null;
  sentAt: Date;
}

export interface Email {
  id: number;
  /** In lower case. */
  to: string;
  from: string;
  subject: string;
  text: string;
  html: string;
  messageId: string;
  sentAt: Date;
}

/** Zibal's status codes: waiting, paid and unverified, paid and verified, cancelled by the payer. */
export type PaymentStatus = -1 | 1 | 2 | 3;

export interface Payment {
  trackId: number;
  merchant: string;
  amountRial: number;
  callbackUrl: string;
  description: string | null;
  orderId: string | null;
  status: PaymentStatus;
  createdAt: Date;
  paidAt: Date | null;
  verifiedAt: Date | null;
}

export interface Purchase {
  id: number;
  token: string;
  productId: string;
  state: PurchaseState;
  /** What Google Play calls the obfuscated external account id. */
  accountId: string | null;
  /** Null for a paid purchase. Only Google Play shows the type and the quantity. */
  purchaseType: (typeof PURCHASE_TYPES)[number] | null;
  quantity: number;
  purchasedAt: Date;
  voidedAt: Date | null;
  consumed: boolean;
  acknowledged: boolean;
}

/** Google Play's types of unpaid purchases. */
export const PURCHASE_TYPES = ['test', 'promo', 'rewarded'] as const;

/** Products in the stores. */
export const PRODUCTS = ['premium_plus', 'boost_basic', 'boost_pro'] as const;

/** The approved templates of the account at the SMS provider. */
const SMS_TEMPLATES: readonly (readonly [name: string, text: string])[] = [
  ['account-deletion-en', 'Your code to delete the account: %token'],
  ['account-deletion-fa', 'کد حذف حساب شما: %token'],
  ['password-reset-en', 'Your code for a new password: %token'],
  ['password-reset-fa', 'کد بازنشانی رمز عبور شما: %token'],
  ['phone-change-en', 'Your code to confirm this number: %token'],
  ['phone-change-fa', 'کد تأیید شمارهٔ شما: %token'],
];

const KEPT = 10_000;

/** A map that drops its oldest entry when it is full, to limit its memory. */
class BoundedMap<K, V> extends Map<K, V> {
  readonly #limit: number;

  constructor(limit: number = KEPT) {
    super();
    this.#limit = limit;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#limit) this.delete(this.keys().next().value as K);
    return this;
  }
}

/**
 * Normalizes a phone number: +98…, 0098…, 98…, 09… and 9… are the same Iranian number.
 * Persian and Arabic digits are accepted. Null if it cannot be a phone number.
 */
export function normalizeReceptor(raw: string): string | null {
  const compact = foldDigits(raw).replace(/[\s()-]/g, '');
  if (!/^\+?\d{7,17}$/.test(compact)) return null;
  if (compact.startsWith('+')) return compact;
  if (compact.startsWith('00')) return `+${compact.slice(2)}`;
  if (compact.startsWith('0')) return `+98${compact.slice(1)}`;
  if (/^9\d{9}$/.test(compact)) return `+98${compact}`;
  return `+${compact}`;
}

export function foldDigits(text: string): string {
  return text
    .replace(/[۰-۹]/g, (digit) => String(digit.charCodeAt(0) - 0x06f0))
    .replace(/[٠-٩]/g, (digit) => String(digit.charCodeAt(0) - 0x0660));
}

export class SandboxState {
  readonly sms = new BoundedMap<number, Sms>();
  /** Messages by the sender's own id, which makes a repeated send harmless. */
  readonly smsByLocalId = new BoundedMap<string, Sms[]>();
  readonly payments = new BoundedMap<number, Payment>();
  readonly purchases = new BoundedMap<string, Purchase>();
  readonly pushes = new BoundedMap<number, Push>();
  readonly emails = new BoundedMap<number, Email>();
  readonly #pushModes = new BoundedMap<string, PushMode>();
  readonly #emailModes = new BoundedMap<string, EmailMode>();
  readonly smsTemplates = new BoundedMap<string, string>();
  readonly #storeCalls = new BoundedMap<string, number>();
  readonly #smsModes = new BoundedMap<string, SmsMode>();
  readonly #clock: Clock;
  #smsMode: SmsMode = 'ok';
  #lastId = 0;
  #generation = 0;
  zibalMode: ZibalMode = 'ok';
  pushMode: PushMode = 'ok';
  emailMode: EmailMode = 'ok';

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#addTemplates();
  }

  #addTemplates(): void {
    for (const [name, text] of SMS_TEMPLATES) this.smsTemplates.set(name, text);
  }

  /** Changes at each reset, so a slow request from before the reset records nothing. */
  get generation(): number {
    return this.#generation;
  }

  /** Ids grow, even across restarts: the product's database outlives the sandbox and stores track ids. */
  nextId(): number {
    this.#lastId = Math.max(this.#lastId + 1, this.#clock.now().getTime());
    return this.#lastId;
  }

  smsModeFor(receptor: string): SmsMode {
    return this.#smsModes.get(receptor) ?? this.#smsMode;
  }

  get smsMode(): SmsMode {
    return this.#smsMode;
  }

  /** The modes of single numbers (E.164). */
  get smsModes(): ReadonlyMap<string, SmsMode> {
    return this.#smsModes;
  }

  /** A mode for one number (E.164) overrides the mode for all. */
  setSmsMode(mode: SmsMode, receptor: string | null): void {
    if (receptor === null) this.#smsMode = mode;
    else this.#smsModes.set(receptor, mode);
  }

  recordSms(receptor: string, message: string, code: string | null): Sms {
    const sms: Sms = { messageId: this.nextId(), receptor, message, code, sentAt: this.#clock.now() };
    this.sms.set(sms.messageId, sms);
    return sms;
  }

  /** Messages to one number (E.164) or to all, newest first. */
  listSms(receptor: string | null): Sms[] {
    const all = [...this.sms.values()].reverse();
    return receptor === null ? all : all.filter((sms) => sms.receptor === receptor);
  }

  /** `Retry-After` in seconds, for the modes that send one. */
  pushRetryAfterS = 1;

  pushModeFor(token: string): PushMode {
    return this.#pushModes.get(token) ?? this.pushMode;
  }

  /** A mode for one device overrides the mode for all. */
  setPushMode(mode: PushMode, token: string | null): void {
    if (token === null) this.pushMode = mode;
    else this.#pushModes.set(token, mode);
  }

  recordPush(push: Omit<Push, 'id' | 'sentAt'>): void {
    const id = this.nextId();
    this.pushes.set(id, { ...push, id, sentAt: this.#clock.now() });
  }

  emailModeFor(address: string): EmailMode {
    return this.#emailModes.get(address.toLowerCase()) ?? this.emailMode;
  }

  /** A mode for one address overrides the mode for all. */
  setEmailMode(mode: EmailMode, address: string | null): void {
    if (address === null) this.emailMode = mode;
    else this.#emailModes.set(address.toLowerCase(), mode);
  }

  recordEmail(email: Omit<Email, 'id' | 'sentAt'>): void {
    const id = this.nextId();
    this.emails.set(id, { ...email, id, sentAt: this.#clock.now() });
  }

  /** A purchase in a new state stays consumed or acknowledged. Another product makes it a new purchase. */
  putPurchase(
    token: string,
    productId: string,
    state: PurchaseState,
    more: Partial<Pick<Purchase, 'accountId' | 'purchaseType' | 'quantity'>> = {},
  ): Purchase {
    const previous = this.purchases.get(token);
    const existing = previous?.productId === productId ? previous : undefined;
    const now = this.#clock.now();
    const purchase: Purchase = {
      id: existing?.id ?? this.nextId(),
      token,
      productId,
      state,
      accountId: more.accountId ?? existing?.accountId ?? null,
      purchaseType: more.purchaseType ?? existing?.purchaseType ?? null,
      quantity: more.quantity ?? existing?.quantity ?? 1,
      purchasedAt: existing?.purchasedAt ?? now,
      voidedAt: state === 'refunded' ? (existing?.voidedAt ?? now) : null,
      consumed: existing?.consumed ?? false,
      acknowledged: existing?.acknowledged ?? false,
    };
    this.purchases.set(token, purchase);
    return purchase;
  }

  countStoreCall(token: string): void {
    this.#storeCalls.set(token, this.storeCalls(token) + 1);
  }

  storeCalls(token: string): number {
    return this.#storeCalls.get(token) ?? 0;
  }

  forget(): void {
    this.sms.clear();
    this.smsByLocalId.clear();
    this.payments.clear();
    this.purchases.clear();
    this.#storeCalls.clear();
    this.#smsModes.clear();
    this.smsTemplates.clear();
    this.#addTemplates();
    this.#smsMode = 'ok';
    this.zibalMode = 'ok';
    this.pushes.clear();
    this.emails.clear();
    this.#pushModes.clear();
    this.#emailModes.clear();
    this.pushMode = 'ok';
    this.pushRetryAfterS = 1;
    this.emailMode = 'ok';
    this.#generation += 1;
  }
}
