/**
 * The list of store channels, from which the values of STORE_CHANNEL, the configuration variables and the contract test
 * are derived.
 */
import { alternatives } from '@fitness/shared/kernel/alternatives.ts';
import type { z } from 'zod';
import { cafebazaar } from './cafebazaar.ts';
import type { ChannelDependencies, StoreChannel } from './channel.ts';
import { coalesceVerifications } from './coalesce-verifications.ts';
import { googlePlay } from './google-play.ts';
import { myket } from './myket.ts';

const channels = alternatives('STORE_CHANNEL', [cafebazaar, myket, googlePlay]);

export const { names: CHANNEL_NAMES, shape: channelVariables, requireChosen: requireChannel } = channels;

export type ChannelName = (typeof CHANNEL_NAMES)[number];

type ChannelConfig = z.output<z.ZodObject<typeof channelVariables>>;

/** Opens the chosen channel. */
export const createChannel = (config: ChannelConfig, dependencies: ChannelDependencies): StoreChannel => {
  const channel = channels.chosen(config);
  return coalesceVerifications({ name: channel.name, ...channel.create(config as never, dependencies) });
};
