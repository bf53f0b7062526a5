/**
 * The SMS provider Kavenegar: `verify/lookup` sends a code in a template, and `sms/send` sends a text. The URL is never
 * logged, because it contains the API key. A code is not sent again after a lost response, because the SMS may have been
 * sent. A text has an id by which Kavenegar recognizes a repetition.
 */
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Metrics } from '@fitness/shared/kernel/metrics.ts';
import { z } from 'zod';
import type { CodePurpose } from '../domain/confirmation-code.ts';

/** `sent`: accepted by Kavenegar. `refused`: definitely not sent. `unknown`: may or may not have been sent. */
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

export interface Kavenegar {
  sendCode(sms: CodeSms): Promise<SmsOutcome>;
  sendText(sms: TextSms): Promise<SmsOutcome>;
}

interface KavenegarOptions {
  baseUrl: string;
  apiKey: string;
  /** Template names by purpose; the language is appended: `account-deletion-fa`. */
  templates: Record<CodePurpose, string>;
  timeoutMs: number;
}

const responseSchema = z.object({ return: z.object({ status: z.int(), message: z.string().nullish() }) });
const OK = 200;
/** The connection was not established, so nothing can have been sent. */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export const createKavenegar = (
  { baseUrl, apiKey, templates, timeoutMs }: KavenegarOptions,
  metrics: Metrics,
): Kavenegar => {
  const sent = metrics.counter({
    name: 'sms_sent_total',
    help: 'SMS by outcome: sent (Kavenegar has accepted it), refused (not sent), unknown (perhaps sent)',
    labels: { message: ['code', 'text'], outcome: ['sent', 'refused', 'unknown'] },
  });
  const call = async (method: string, parameters: Record<string, string>): Promise<SmsOutcome> => {
    try {
      return await metrics.measureProvider('kavenegar', async () => {
        const response = await fetch(`${baseUrl}/v1/${encodeURIComponent(apiKey)}/${method}.json`, {
          method: 'POST',
          body: new URLSearchParams(parameters),
          signal: AbortSignal.timeout(timeoutMs),
        });
        return toOutcome(response.status, await response.text());
      });
    } catch (error) {
      if (error instanceof Unreadable) return { outcome: 'unknown', reason: error.message };
      return { outcome: isNotConnected(error) ? 'refused' : 'unknown', reason: nameOf(error) };
    }
  };
  const counted = async (message: 'code' | 'text', sending: Promise<SmsOutcome>): Promise<SmsOutcome> => {
    const result = await sending;
    sent.inc({ message, outcome: result.outcome });
    return result;
  };
  return {
    sendCode: ({ receptor, purpose, code, locale }) =>
      counted(
        'code',
        call('verify/lookup', { receptor, token: code, template: `${templates[purpose]}-${locale}` }),
      ),
    sendText: ({ receptor, text, id }) =>
      counted('text', call('sms/send', { receptor, message: text, localid: String(id) })),
  };
};

/** A failure of Kavenegar, as opposed to a refusal, which can be parsed. */
class Unreadable extends Error {}

/** The status in the body decides; Kavenegar sends errors with any HTTP status. Throws `Unreadable`. */
const toOutcome = (httpStatus: number, body: string): SmsOutcome => {
  const response = responseSchema.safeParse(parseJson(body));
  if (!response.success) throw new Unreadable(`unreadable response with HTTP ${httpStatus}`);
  const { status } = response.data.return;
  return status === OK ? { outcome: 'sent' } : { outcome: 'refused', reason: `status ${status}` };
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

/** The name only: the message may contain the URL and with it the API key. */
const nameOf = (error: unknown): string =>
  String(causeCode(error) ?? (error as { name?: unknown } | null)?.name);
