/** The sandbox's SMS provider and the SMS that it has received. */
import { eventually } from '@fitness/shared/testing/harness.ts';
import { startSandbox } from '../../../sandbox/src/service.ts';

interface ReceivedSms {
  message: string;
  code: string | null;
}

export interface SmsSandbox {
  url: string;
  /** The value for `KAVENEGAR_BASE_URL`. */
  kavenegarUrl: string;
  /** The SMS to this phone, newest first. */
  received(phone: string): Promise<ReceivedSms[]>;
  /** The newest code that was sent to this phone; empty when there is none. */
  newestCode(phone: string): Promise<string>;
  /** Waits until `count` SMS were sent to this phone. */
  waitFor(phone: string, count: number): Promise<ReceivedSms[]>;
  setMode(mode: 'ok' | 'refuse' | 'unreachable' | 'slow', phone: string): Promise<void>;
  close(): Promise<void>;
}

export const startSmsSandbox = async (): Promise<SmsSandbox> => {
  const { url, close } = await startSandbox();
  const received = async (phone: string): Promise<ReceivedSms[]> => {
    const answer = await fetch(`${url}/_sandbox/sms?receptor=${encodeURIComponent(phone)}`);
    return ((await answer.json()) as { data: ReceivedSms[] }).data;
  };
  return {
    url,
    kavenegarUrl: `${url}/kavenegar`,
    received,
    newestCode: async (phone) => (await received(phone)).find(({ code }) => code !== null)?.code ?? '',
    waitFor: (phone, count) =>
      eventually(async () => {
        const sms = await received(phone);
        return sms.length >= count && sms;
      }),
    setMode: async (mode, receptor) => {
      await fetch(`${url}/_sandbox/sms/mode`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ mode, receptor }),
      });
    },
    close,
  };
};
