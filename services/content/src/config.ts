/** The only place of this service that reads the environment. */
import { grpcAddresses, parseConfig, seconds, serviceShape } from '@fitness/shared/config.ts';
import { z } from 'zod';

const { IDENTITY_GRPC_ADDRESS, GYMS_GRPC_ADDRESS, WALLET_GRPC_ADDRESS } = grpcAddresses;
const { MEDIA_GRPC_ADDRESS, STORE_BILLING_GRPC_ADDRESS } = grpcAddresses;

const schema = z.object({
  ...serviceShape('content', 8104),
  IDENTITY_GRPC_ADDRESS,
  GYMS_GRPC_ADDRESS,
  WALLET_GRPC_ADDRESS,
  MEDIA_GRPC_ADDRESS,
  STORE_BILLING_GRPC_ADDRESS,
  /** How often purchases that were interrupted, and posts of removed profiles, are looked for. */
  CONTENT_SWEEP_SECONDS: seconds.default(10),
});

export type ContentConfig = z.output<typeof schema>;

/** Throws ConfigError, naming each wrong variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): ContentConfig =>
  parseConfig(schema, env);
