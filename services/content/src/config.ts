import {
  grpcAddresses,
  listCacheMib,
  parseConfig,
  seconds,
  serviceShape,
} from '@fitness/shared/kernel/config.ts';
import { z } from 'zod';

const { IDENTITY_GRPC_ADDRESS, GYMS_GRPC_ADDRESS, WALLET_GRPC_ADDRESS } = grpcAddresses;
const { MEDIA_GRPC_ADDRESS, STORE_BILLING_GRPC_ADDRESS } = grpcAddresses;

const HTTP_PORT = 8104;

const schema = z.object({
  ...serviceShape('content', HTTP_PORT),
  IDENTITY_GRPC_ADDRESS,
  GYMS_GRPC_ADDRESS,
  WALLET_GRPC_ADDRESS,
  MEDIA_GRPC_ADDRESS,
  STORE_BILLING_GRPC_ADDRESS,
  LIST_CACHE_MIB: listCacheMib,
  /** Interval of the jobs that finish interrupted purchases and delete posts of gone profiles. */
  CONTENT_SWEEP_SECONDS: seconds.default(10),
});

export type ContentConfig = z.output<typeof schema>;

/** Throws ConfigError with every invalid variable. */
export const readConfig = (env: Record<string, string | undefined> = process.env): ContentConfig =>
  parseConfig(schema, env);
