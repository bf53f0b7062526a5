import { grpcAddresses, listCacheMib, parseConfig, serviceShape } from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';

const { IDENTITY_GRPC_ADDRESS, MEDIA_GRPC_ADDRESS, STORE_BILLING_GRPC_ADDRESS } = grpcAddresses;

const schema = z.object({
  ...serviceShape('gyms', 8103),
  IDENTITY_GRPC_ADDRESS,
  MEDIA_GRPC_ADDRESS,
  STORE_BILLING_GRPC_ADDRESS,
  LIST_CACHE_MIB: listCacheMib,
});

export type GymsConfig = z.output<typeof schema>;

/** Throws `ConfigError`, which names every invalid variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): GymsConfig =>
  parseConfig(schema, env);
