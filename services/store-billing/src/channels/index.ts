/**
 * The list of store channels, from which the values of STORE_CHANNEL, the configuration variables and the contract test
 * are derived.
 */
import type { z } from 'zod';
import { cafebazaar } from './cafebazaar.ts';
import type { ChannelDependencies, StoreChannel } from './channel.ts';
import { coalesceVerifications } from './coalesce-verifications.ts';
import { googlePlay } from './google-play.ts';
import { myket } from './myket.ts';

const CHANNELS = [cafebazaar, myket, googlePlay] as const;

type Channel = (typeof CHANNELS)[number];

export type ChannelName = Channel['name'];

export const CHANNEL_NAMES: readonly ChannelName[] = CHANNELS.map(({ name }) => name);

type UnionToIntersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  member: infer Intersection,
) => void
  ? Intersection
  : never;

type Variables = UnionToIntersection<Channel['variables']>;

/** A field without a default may be absent, since another channel may be chosen. */
type Optional<Field> = Field extends z.ZodDefault
  ? Field
  : Field extends z.ZodType
    ? z.ZodOptional<Field>
    : never;

const isRequired = (field: z.ZodType): boolean => !field.safeParse(undefined).success;

/** The environment variables of all channels. */
export const channelVariables = Object.fromEntries(
  CHANNELS.flatMap(({ variables }) =>
    Object.entries<z.ZodType>(variables).map(([name, field]) => [
      name,
      isRequired(field) ? field.optional() : field,
    ]),
  ),
) as { [Name in keyof Variables]: Optional<Variables[Name]> };

type ChannelConfig = { STORE_CHANNEL: ChannelName } & z.output<z.ZodObject<typeof channelVariables>>;

const chosen = (name: ChannelName): Channel => {
  const channel = CHANNELS.find((each) => each.name === name);
  if (channel === undefined) throw new Error(`no store channel ${name}`);
  return channel;
};

/** The required variables of the chosen channel that are absent. */
export const missingVariables = (config: ChannelConfig): string[] =>
  Object.entries<z.ZodType>(chosen(config.STORE_CHANNEL).variables).flatMap(([name, field]) =>
    isRequired(field) && (config as Record<string, unknown>)[name] === undefined ? [name] : [],
  );

/** Opens the chosen channel. `config` has no {@link missingVariables}. */
export const createChannel = (config: ChannelConfig, dependencies: ChannelDependencies): StoreChannel => {
  const channel = chosen(config.STORE_CHANNEL);
  return coalesceVerifications({ name: channel.name, ...channel.create(config as never, dependencies) });
};
