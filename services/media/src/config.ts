import { grpcAddresses, parseConfig, serviceShape } from '@fitness/shared/config.ts';
import { z } from 'zod';

const schema = z.object({
  ...serviceShape('media', 8105),
  GYMS_GRPC_ADDRESS: grpcAddresses.GYMS_GRPC_ADDRESS,
  IDENTITY_GRPC_ADDRESS: grpcAddresses.IDENTITY_GRPC_ADDRESS,
  CONTENT_GRPC_ADDRESS: grpcAddresses.CONTENT_GRPC_ADDRESS,
  /** Where files are kept on the local disk. */
  MEDIA_DIRECTORY: z.string().min(1).default('.data/media'),
});

export type MediaConfig = z.output<typeof schema>;

export const readConfig = (env: Record<string, string | undefined> = process.env): MediaConfig =>
  parseConfig(schema, env);
