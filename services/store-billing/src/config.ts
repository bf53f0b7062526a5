/** The environment variables of store-billing. */
import { grpcAddresses, journalShape, parseConfig, serviceShape } from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';
import { channelVariables, requireChannel } from './channels/index.ts';

/** In Rial, and a whole number of Tooman, because payments are booked in Tooman. */
const priceRial = z.coerce.number().int().positive().multipleOf(10);
const days = z.coerce.number().int().min(1).max(3_650);

const schema = z
  .object({
    ...serviceShape('store-billing', 8106),
    ...journalShape,
    IDENTITY_GRPC_ADDRESS: grpcAddresses.IDENTITY_GRPC_ADDRESS,
    WALLET_GRPC_ADDRESS: grpcAddresses.WALLET_GRPC_ADDRESS,
    GYMS_GRPC_ADDRESS: grpcAddresses.GYMS_GRPC_ADDRESS,
    CONTENT_GRPC_ADDRESS: grpcAddresses.CONTENT_GRPC_ADDRESS,
    /** `STORE_CHANNEL` is the only store whose purchases are accepted. */
    ...channelVariables,
    STORE_TIMEOUT_MS: z.coerce.number().int().min(1).max(60_000).default(4_000),
    PRICE_PREMIUM_PLUS_RIAL: priceRial.default(19_990_000),
    PRICE_BOOST_BASIC_RIAL: priceRial.default(990_000),
    PRICE_BOOST_PRO_RIAL: priceRial.default(1_900_000),
    BOOST_BASIC_DAYS: days.default(7),
    BOOST_PRO_DAYS: days.default(30),
  })
  .superRefine(requireChannel);

export type StoreBillingConfig = z.output<typeof schema>;

/** Throws ConfigError with every invalid variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): StoreBillingConfig =>
  parseConfig(schema, env);
