/** SMS is asked and answered over RabbitMQ: the caller needs to know whether it went out, and never waits for ever. */
import type { Broker } from '@fitness/shared/events/broker.ts';
import {
  commandQueue,
  createRpcClient,
  type RpcClient,
  type RpcServer,
  serveRpc,
} from '@fitness/shared/events/rpc.ts';
import { LOCALES, type Locale } from '@fitness/shared/i18n/translate.ts';
import type { Logger } from '@fitness/shared/log.ts';
import { z } from 'zod';
import type { CodeSms, Kavenegar, SmsOutcome } from './kavenegar.ts';

const requestSchema = z.object({
  receptor: z.string(),
  purpose: z.enum(['deletion', 'reset']),
  code: z.string(),
  locale: z.enum(LOCALES as [Locale, ...Locale[]]),
});

const outcomeSchema = z.union([
  z.object({ outcome: z.literal('sent') }),
  z.object({ outcome: z.enum(['refused', 'unknown']), reason: z.string() }),
]);

export interface SmsSender {
  /** Never rejects. `refused` is definite; `unknown` covers a lost answer and a missed deadline. */
  send(sms: CodeSms): Promise<SmsOutcome>;
  close(): Promise<void>;
}

const QUEUE = 'sms.send';

/** The asking side. `timeoutMs`: after it the command is dropped unsent. */
export const createSmsSender = async (broker: Broker, log: Logger, timeoutMs: number): Promise<SmsSender> => {
  const rpc: RpcClient = await createRpcClient({ broker, queue: commandQueue(broker.namespace, QUEUE), log });
  return {
    send: async (sms) => {
      try {
        return await rpc.call(requestSchema, outcomeSchema, sms, { timeoutMs });
      } catch (error) {
        const definite = (error as { name?: unknown } | null)?.name === 'RpcNotSentError';
        log.warn({ err: error }, 'an SMS command had no answer');
        return { outcome: definite ? 'refused' : 'unknown', reason: 'no answer to the command' };
      }
    },
    close: () => rpc.close(),
  };
};

/** The sending side: a command that may have been carried out before is not sent again. */
export const serveSms = (broker: Broker, kavenegar: Kavenegar, log: Logger): Promise<RpcServer> =>
  serveRpc({
    broker,
    queue: commandQueue(broker.namespace, QUEUE),
    request: requestSchema,
    log,
    handle: async (sms, { redelivered }): Promise<SmsOutcome> => {
      if (redelivered) return { outcome: 'unknown', reason: 'the command was handed out twice' };
      const outcome = await kavenegar.sendCode(sms);
      if (outcome.outcome !== 'sent') log.warn({ outcome }, 'an SMS was not sent');
      return outcome;
    },
  });
