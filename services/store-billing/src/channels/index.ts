/** The stores that we know; the configuration picks the one whose purchases are accepted. */
import type { Clock } from '@fitness/shared/clock.ts';
import type { ProviderClient } from '@fitness/shared/http/provider-client.ts';
import type { StoreBillingConfig } from '../config.ts';
import { askOnce } from './ask-once.ts';
import { createCafebazaar } from './cafebazaar.ts';
import type { StoreChannel } from './channel.ts';
import { createGooglePlay } from './google-play.ts';
import { createMyket } from './myket.ts';

export type ChannelName = StoreBillingConfig['STORE_CHANNEL'];

export interface ChannelParts {
  client: ProviderClient;
  clock: Clock;
}

type Create = (config: StoreBillingConfig, parts: ChannelParts) => StoreChannel;

/** Present for the chosen channel: the configuration was checked at start. */
const needed = (value: string | undefined): string => {
  if (value === undefined) throw new Error('a credential of the chosen store is missing');
  return value;
};

const CHANNELS: Readonly<Record<ChannelName, Create>> = {
  cafebazaar: (config, { client }) =>
    createCafebazaar({
      client,
      baseUrl: config.CAFEBAZAAR_BASE_URL,
      apiSecret: needed(config.CAFEBAZAAR_API_SECRET),
      packageName: config.CAFEBAZAAR_PACKAGE,
    }),
  myket: (config, { client }) =>
    createMyket({
      client,
      baseUrl: config.MYKET_BASE_URL,
      accessToken: needed(config.MYKET_ACCESS_TOKEN),
      packageName: config.MYKET_PACKAGE,
    }),
  google_play: (config, { client, clock }) =>
    createGooglePlay({
      client,
      clock,
      baseUrl: config.GOOGLE_PLAY_BASE_URL,
      tokenUrl: config.GOOGLE_PLAY_TOKEN_URL,
      clientEmail: needed(config.GOOGLE_PLAY_CLIENT_EMAIL),
      privateKey: needed(config.GOOGLE_PLAY_PRIVATE_KEY),
      packageName: config.GOOGLE_PLAY_PACKAGE,
    }),
};

export const CHANNEL_NAMES = Object.keys(CHANNELS) as ChannelName[];

export const createChannel = (config: StoreBillingConfig, parts: ChannelParts): StoreChannel =>
  askOnce(CHANNELS[config.STORE_CHANNEL](config, parts));
