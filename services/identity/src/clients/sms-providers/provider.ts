/** An SMS provider, and what the calls of all of them have in common. */
import { scaledDeadline } from '@fitness/shared/kernel/config.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Metrics } from '@fitness/shared/kernel/metrics.ts';
import type { z } from 'zod';
import type { CodePurpose } from '../../domain/confirmation-code.ts';

/** `sent`: accepted by the provider. `refused`: definitely not sent. `unknown`: may or may not have been sent. */
export type SmsOutcome = { outcome: 'sent' } | { outcome: 'refused' | 'unknown'; reason: string };

export interface CodeSms {
  /** E.164. */
  receptor: string;
  purpose: CodePurpose;
  code: string;
  locale: Locale;
}

interface TextSms {
  /** E.164. */
  receptor: string;
  text: string;
  /** A positive integer of at most 63 bits; a text with the id of an earlier one is not sent again. */
  id: bigint;
}

export interface SmsProvider {
  /** Never rejects, and is not repeated after a lost response, because the SMS may have been sent. */
  sendCode(sms: CodeSms): Promise<SmsOutcome>;
  /** Never rejects. */
  sendText(sms: TextSms): Promise<SmsOutcome>;
}

interface SmsRequest {
  url: string;
  headers?: Record<string, string>;
  body: string | URLSearchParams;
  timeoutMs: number;
}

/**
 * Sends a POST request. `read` gets the HTTP status and the JSON of the response; undefined means that the response is not the
 * provider's.
 */
export type SendRequest = (
  request: SmsRequest,
  read: (status: number, body: unknown) => SmsOutcome | undefined,
) => Promise<SmsOutcome>;

interface SmsProviderDefinition<Name extends string, Variables extends Record<string, z.ZodType>> {
  /** A value of SMS_PROVIDER, and the name in metrics. */
  name: Name;
  /** Its environment variables. Those without a default are required only when this provider is chosen. */
  variables: Variables;
  create(config: z.output<z.ZodObject<Variables>>, send: SendRequest): SmsProvider;
}

export const defineSmsProvider = <const Name extends string, Variables extends Record<string, z.ZodType>>(
  definition: SmsProviderDefinition<Name, Variables>,
): SmsProviderDefinition<Name, Variables> => definition;

/** The connection was not established, so nothing can have been sent. */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** A failure of the provider, as opposed to a refusal, which can be parsed. */
class Unreadable extends Error {}

export const createSendRequest =
  (name: string, metrics: Metrics): SendRequest =>
  async ({ url, timeoutMs, ...content }, read) => {
    const exchange = async (): Promise<SmsOutcome> => {
      const response = await fetch(url, {
        ...content,
        method: 'POST',
        signal: AbortSignal.timeout(scaledDeadline(timeoutMs)),
      });
      const outcome = read(response.status, parseJson(await response.text()));
      if (outcome === undefined) throw new Unreadable(`unreadable response with HTTP ${response.status}`);
      return outcome;
    };
    try {
      return await metrics.measureProvider(name, exchange);
    } catch (error) {
      if (error instanceof Unreadable) return { outcome: 'unknown', reason: error.message };
      return { outcome: isNotConnected(error) ? 'refused' : 'unknown', reason: nameOf(error) };
    }
  };

/** Counts the SMS of a provider by outcome. */
export const countSms = (provider: SmsProvider, metrics: Metrics): SmsProvider => {
  const sent = metrics.counter({
    name: 'sms_sent_total',
    help: 'SMS by outcome: sent (the provider has accepted it), refused (not sent), unknown (perhaps sent)',
    labels: { message: ['code', 'text'], outcome: ['sent', 'refused', 'unknown'] },
  });
  const counted = async (message: 'code' | 'text', sending: Promise<SmsOutcome>): Promise<SmsOutcome> => {
    const result = await sending;
    sent.inc({ message, outcome: result.outcome });
    return result;
  };
  return {
    sendCode: (sms) => counted('code', provider.sendCode(sms)),
    sendText: (sms) => counted('text', provider.sendText(sms)),
  };
};

const parseJson = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
};

const causeCode = (error: unknown): unknown => (error as { cause?: { code?: unknown } } | null)?.cause?.code;

const isNotConnected = (error: unknown): boolean => NOT_CONNECTED.has(String(causeCode(error)));

/** The name only: the message may contain the URL and with it a key. */
const nameOf = (error: unknown): string =>
  String(causeCode(error) ?? (error as { name?: unknown } | null)?.name);
