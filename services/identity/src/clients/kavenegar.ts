/**
 * Kavenegar's `verify/lookup`: one code to one phone by a template. The API key is in the path, so no address of it is
 * ever logged. A send is never retried here: without an answer nobody knows whether the SMS went out.
 * Source: Kavenegar's REST documentation.
 */
import type { Locale } from '@fitness/shared/i18n/translate.ts';
import { z } from 'zod';
import type { CodePurpose } from '../domain/confirmation-code.ts';

/** `sent`: Kavenegar took it. `refused`: definitely not sent. `unknown`: nobody can say. */
export type SmsOutcome = { outcome: 'sent' } | { outcome: 'refused' | 'unknown'; reason: string };

export interface CodeSms {
  /** E.164. */
  receptor: string;
  purpose: CodePurpose;
  code: string;
  locale: Locale;
}

export interface Kavenegar {
  sendCode(sms: CodeSms): Promise<SmsOutcome>;
}

export interface KavenegarOptions {
  baseUrl: string;
  apiKey: string;
  /** Template names by purpose; the language is appended: `account-deletion-fa`. */
  templates: Record<CodePurpose, string>;
  timeoutMs: number;
}

const answerSchema = z.object({ return: z.object({ status: z.int(), message: z.string().nullish() }) });
const OK = 200;
/** The connection was never made, so nothing can have been sent. */
const NEVER_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export const createKavenegar = ({ baseUrl, apiKey, templates, timeoutMs }: KavenegarOptions): Kavenegar => {
  const url = `${baseUrl}/v1/${encodeURIComponent(apiKey)}/verify/lookup.json`;
  return {
    sendCode: async ({ receptor, purpose, code, locale }) => {
      const form = new URLSearchParams({
        receptor,
        token: code,
        template: `${templates[purpose]}-${locale}`,
      });
      try {
        const response = await fetch(url, {
          method: 'POST',
          body: form,
          signal: AbortSignal.timeout(timeoutMs),
        });
        return readAnswer(response.status, await response.text());
      } catch (error) {
        return { outcome: neverReached(error) ? 'refused' : 'unknown', reason: nameOf(error) };
      }
    },
  };
};

/** An error may come with any HTTP status: the envelope decides, where there is one. */
const readAnswer = (httpStatus: number, body: string): SmsOutcome => {
  const answer = answerSchema.safeParse(parseJson(body));
  if (!answer.success) return { outcome: 'unknown', reason: `unreadable answer with HTTP ${httpStatus}` };
  const { status } = answer.data.return;
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

const neverReached = (error: unknown): boolean => NEVER_REACHED.has(String(causeCode(error)));

/** Never the message: it may hold the address, and with it the key. */
const nameOf = (error: unknown): string =>
  String(causeCode(error) ?? (error as { name?: unknown } | null)?.name);
