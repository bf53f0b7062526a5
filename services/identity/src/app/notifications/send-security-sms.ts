import type { EventData } from '@fitness/proto/events/define-event.ts';
import type { securitySmsRequested } from '@fitness/proto/events/identity.ts';
import { translate } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Dependencies } from '../../dependencies.ts';

/** Rejects unless the SMS was sent. `eventId`: a UUID; a repetition with the same UUID sends no second SMS. */
type SendSecuritySms = (eventId: string, sms: EventData<typeof securitySmsRequested>) => Promise<void>;

export const createSendSecuritySms =
  ({ textSms }: Dependencies): SendSecuritySms =>
  async (eventId, { phone, locale, notice, deletion_scheduled_at: scheduledAt }) => {
    const text = translate(locale, `sms.${notice}`, { deletion_scheduled_at: scheduledAt ?? '' });
    const result = await textSms.sendText({ receptor: phone, text, id: toSmsId(eventId) });
    if (result.outcome !== 'sent') throw new Error(`a security notice was not sent: ${result.reason}`);
  };

const HEX_DIGITS = 15;

/** The first 60 bits of the UUID. */
const toSmsId = (eventId: string): bigint => BigInt(`0x${eventId.replaceAll('-', '').slice(0, HEX_DIGITS)}`);
