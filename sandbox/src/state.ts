/** The state of the emulated providers: in memory, bounded, and reset on demand. */
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import approvedTemplates from './sms-templates.json' with { type: 'json' };

export const SMS_MODES = ['ok', 'refuse', 'unreachable', 'slow'] as const;
export const ZIBAL_MODES = ['ok', 'unreachable'] as const;
/** The states of a purchase at a store. */
export const SETTLED_STATES = ['purchased', 'canceled', 'refunded', 'pending'] as const;
export type SettledState = (typeof SETTLED_STATES)[number];
/** The last three are failures of the connection. */
export const PURCHASE_STATES = [...SETTLED_STATES, 'garbage', 'unreachable', 'slow'] as const;

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
  id: number;
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
  message_id: string;
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

const KEPT = 10_000;

/** A map that drops its oldest entry when it is full, to limit its memory. */
class BoundedMap<K, V> extends Map<K, V> {
  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > KEPT) this.delete(this.keys().next().value as K);
    return this;
  }
}

/** How a provider behaves: a mode for all recipients, and modes of single ones, which take precedence. */
class Modes<Mode extends string> extends BoundedMap<string, Mode | 'ok'> {
  general: Mode | 'ok' = 'ok';

  of(recipient: string): Mode | 'ok' {
    return this.get(recipient) ?? this.general;
  }

  /** Null for all recipients. */
  choose(mode: Mode, recipient: string | null): void {
    if (recipient === null) this.general = mode;
    else this.set(recipient, mode);
  }

  override clear(): void {
    super.clear();
    this.general = 'ok';
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
  /** The approved templates of the account at the SMS provider, by name. */
  readonly smsTemplates = new BoundedMap<string, string>(Object.entries(approvedTemplates));
  readonly payments = new BoundedMap<number, Payment>();
  readonly purchases = new BoundedMap<string, Purchase>();
  /** Validations by purchase token. */
  readonly storeCalls = new BoundedMap<string, number>();
  readonly pushes = new BoundedMap<number, Push>();
  readonly emails = new BoundedMap<number, Email>();
  /** The key is a number (E.164). */
  readonly smsModes = new Modes<SmsMode>();
  /** The key is a device token. */
  readonly pushModes = new Modes<PushMode>();
  /** The key is an address in lower case. */
  readonly emailModes = new Modes<EmailMode>();
  /** The payment gateway has no single recipients. */
  readonly zibalModes = new Modes<ZibalMode>();
  /** `Retry-After` in seconds, for the modes that send one. */
  pushRetryAfterS = 1;
  /** Changes at each reset, so a slow request from before the reset records nothing. */
  generation = 0;
  readonly #clock: Clock;
  #lastId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ids grow, even across restarts: the product's database outlives the sandbox and stores track ids. */
  nextId(): number {
    this.#lastId = Math.max(this.#lastId + 1, this.#clock.now().getTime());
    return this.#lastId;
  }

  recordSms(receptor: string, message: string, code: string | null): Sms {
    return this.#record(this.sms, { receptor, message, code });
  }

  recordPush(push: Omit<Push, 'id' | 'sentAt'>): void {
    this.#record(this.pushes, push);
  }

  recordEmail(email: Omit<Email, 'id' | 'sentAt'>): void {
    this.#record(this.emails, email);
  }

  #record<Message>(messages: Map<number, Message>, fields: Omit<Message, 'id' | 'sentAt'>): Message {
    const id = this.nextId();
    const message = { ...fields, id, sentAt: this.#clock.now() } as Message;
    messages.set(id, message);
    return message;
  }

  /** A purchase in a new state stays consumed or acknowledged. Another product makes it a new purchase. */
  putPurchase(
    token: string,
    productId: string,
    state: PurchaseState,
    more: { [Field in 'accountId' | 'purchaseType' | 'quantity']?: Purchase[Field] | undefined } = {},
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
    this.storeCalls.set(token, (this.storeCalls.get(token) ?? 0) + 1);
  }

  forget(): void {
    for (const part of Object.values(this)) if (part instanceof Map) part.clear();
    for (const [name, text] of Object.entries(approvedTemplates)) this.smsTemplates.set(name, text);
    this.pushRetryAfterS = 1;
    this.generation += 1;
  }
}
