/**
 * The list of SMS providers, from which the values of SMS_PROVIDER, the configuration variables and the contract test are
 * derived.
 */
import { alternatives } from '@fitness/shared/kernel/alternatives.ts';
import type { Metrics } from '@fitness/shared/kernel/metrics.ts';
import type { z } from 'zod';
import { kavenegar } from './kavenegar.ts';
import { countSms, createSendRequest, type SmsProvider } from './provider.ts';

const providers = alternatives('SMS_PROVIDER', [kavenegar]);

export const { names: SMS_PROVIDERS, shape: smsVariables, requireChosen: requireSmsProvider } = providers;

type SmsConfig = z.output<z.ZodObject<typeof smsVariables>>;

/** Opens the chosen provider. */
export const createSmsProvider = (config: SmsConfig, metrics: Metrics): SmsProvider => {
  const { name, create } = providers.chosen(config);
  return countSms(create(config as never, createSendRequest(name, metrics)), metrics);
};
