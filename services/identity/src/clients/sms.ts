/** SMS are sent by a command over RabbitMQ. The caller gets the outcome, and waits until a deadline at most. */
import { scaledDeadline } from '@fitness/shared/kernel/config.ts';
import { isLocale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { Broker } from '@fitness/shared/messaging/broker.ts';
import { type Command, RpcNotSentError } from '@fitness/shared/messaging/rpc.ts';
import { createRpcClient } from '@fitness/shared/messaging/rpc-client.ts';
import { type RpcServer, serveRpc } from '@fitness/shared/messaging/rpc-server.ts';
import { z } from 'zod';
import { CODE_PURPOSES } from '../domain/confirmation-code.ts';
import type { CodeSms, SmsOutcome, SmsProvider } from './sms-providers/provider.ts';

const SEND_SMS: Command<CodeSms, SmsOutcome> = {
  name: 'sms.send',
  request: z.object({
    receptor: z.string(),
    purpose: z.enum(CODE_PURPOSES),
    code: z.string(),
    locale: z.string().refine(isLocale),
  }),
  response: z.union([
    z.object({ outcome: z.literal('sent') }),
    z.object({ outcome: z.enum(['refused', 'unknown']), reason: z.string() }),
  ]),
};

export interface SmsSender {
  /** Never rejects. `refused`: not sent. `unknown`: the reply was lost or late. */
  send(sms: CodeSms): Promise<SmsOutcome>;
  close(): Promise<void>;
}

/** The calling side. A command is not executed after `timeoutMs`. */
export const createSmsSender = async (broker: Broker, log: Logger, timeoutMs: number): Promise<SmsSender> => {
  const rpc = await createRpcClient({ broker, command: SEND_SMS, log });
  return {
    send: async (sms) => {
      try {
        return await rpc.call(sms, scaledDeadline(timeoutMs));
      } catch (error) {
        log.warn({ err: error }, 'an SMS command had no reply');
        const outcome = error instanceof RpcNotSentError ? 'refused' : 'unknown';
        return { outcome, reason: 'no reply to the command' };
      }
    },
    close: () => rpc.close(),
  };
};

/** The serving side. A redelivered command is not executed, because it may have been executed before. */
export const serveSms = (broker: Broker, provider: SmsProvider, log: Logger): Promise<RpcServer> =>
  serveRpc({
    broker,
    command: SEND_SMS,
    log,
    handle: async (sms, { redelivered }): Promise<SmsOutcome> => {
      if (redelivered) return { outcome: 'unknown', reason: 'the command was delivered twice' };
      const outcome = await provider.sendCode(sms);
      if (outcome.outcome !== 'sent') log.warn({ outcome }, 'an SMS was not sent');
      return outcome;
    },
  });
