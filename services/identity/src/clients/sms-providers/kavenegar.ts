/**
 * Kavenegar: `verify/lookup` sends a code in a template, and `sms/send` sends a text. Its address contains the API key. A text
 * has an id by which Kavenegar recognizes a repetition.
 */
import { milliseconds, providerUrl } from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';
import type { CodePurpose } from '../../domain/confirmation-code.ts';
import { defineSmsProvider, type SmsOutcome } from './provider.ts';

const responseSchema = z.object({ return: z.object({ status: z.int(), message: z.string().nullish() }) });
const OK = 200;

/** The status in the body decides; Kavenegar sends errors with any HTTP status. */
const readOutcome = (_httpStatus: number, body: unknown): SmsOutcome | undefined => {
  const status = responseSchema.safeParse(body).data?.return.status;
  if (status === undefined) return undefined;
  return status === OK ? { outcome: 'sent' } : { outcome: 'refused', reason: `status ${status}` };
};

export const kavenegar = defineSmsProvider({
  name: 'kavenegar',
  variables: {
    KAVENEGAR_BASE_URL: providerUrl('https://api.kavenegar.com'),
    /** Secret. Kavenegar expects it in the path of the URL. */
    KAVENEGAR_API_KEY: z.string().min(1),
    /** Names of templates at Kavenegar. The locale is appended: `-en`, `-fa`. */
    KAVENEGAR_DELETION_TEMPLATE: z.string().min(1).default('account-deletion'),
    KAVENEGAR_RESET_TEMPLATE: z.string().min(1).default('password-reset'),
    KAVENEGAR_PHONE_TEMPLATE: z.string().min(1).default('phone-change'),
    KAVENEGAR_TIMEOUT_MS: milliseconds.default(4_000),
  },
  create: (config, send) => {
    const templates: Record<CodePurpose, string> = {
      deletion: config.KAVENEGAR_DELETION_TEMPLATE,
      reset: config.KAVENEGAR_RESET_TEMPLATE,
      phone: config.KAVENEGAR_PHONE_TEMPLATE,
    };
    const base = `${config.KAVENEGAR_BASE_URL}/v1/${encodeURIComponent(config.KAVENEGAR_API_KEY)}`;
    const call = (method: string, parameters: Record<string, string>): Promise<SmsOutcome> =>
      send(
        {
          url: `${base}/${method}.json`,
          body: new URLSearchParams(parameters),
          timeoutMs: config.KAVENEGAR_TIMEOUT_MS,
        },
        readOutcome,
      );
    return {
      sendCode: ({ receptor, purpose, code, locale }) =>
        call('verify/lookup', { receptor, token: code, template: `${templates[purpose]}-${locale}` }),
      sendText: ({ receptor, text, id }) =>
        call('sms/send', { receptor, message: text, localid: String(id) }),
    };
  },
});
