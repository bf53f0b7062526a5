/**
 * Loads the `.proto` contracts with the options of the generated types (scripts/lib/generate/types.mjs). With other options,
 * fields are lost.
 */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AuditLogDefinition } from '@fitness/proto/gen/fitness/common/v1/AuditLog.ts';
import type { BlockersDefinition } from '@fitness/proto/gen/fitness/common/v1/Blockers.ts';
import type { MediaCopiesDefinition } from '@fitness/proto/gen/fitness/common/v1/MediaCopies.ts';
import type { ContentDefinition } from '@fitness/proto/gen/fitness/content/v1/Content.ts';
import type { GymsDefinition } from '@fitness/proto/gen/fitness/gyms/v1/Gyms.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { WalletDefinition } from '@fitness/proto/gen/fitness/wallet/v1/Wallet.ts';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';

const PROTO_DIRECTORY = dirname(fileURLToPath(import.meta.resolve('@fitness/proto/package.json')));

const packages = new Map<string, PackageDefinition>();

const loadPackage = (file: string): PackageDefinition =>
  loadSync(file, {
    keepCase: true,
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
    includeDirs: [PROTO_DIRECTORY],
  });

const load = <Definition>(file: string, service: string): Definition => {
  const loaded = packages.get(file) ?? loadPackage(file);
  packages.set(file, loaded);
  const definition = loaded[service];
  if (definition === undefined) throw new Error(`${file} does not define ${service}`);
  return definition as ServiceDefinition as Definition;
};

/** The gRPC services by name, loaded on demand, each file once. */
export const grpcDefinitions = {
  auditLog: () => load<AuditLogDefinition>('common/v1/audit.proto', 'fitness.common.v1.AuditLog'),
  blockers: () => load<BlockersDefinition>('common/v1/blockers.proto', 'fitness.common.v1.Blockers'),
  mediaCopies: () =>
    load<MediaCopiesDefinition>('common/v1/media_copies.proto', 'fitness.common.v1.MediaCopies'),
  identity: () => load<IdentityDefinition>('identity/v1/identity.proto', 'fitness.identity.v1.Identity'),
  wallet: () => load<WalletDefinition>('wallet/v1/wallet.proto', 'fitness.wallet.v1.Wallet'),
  gyms: () => load<GymsDefinition>('gyms/v1/gyms.proto', 'fitness.gyms.v1.Gyms'),
  content: () => load<ContentDefinition>('content/v1/content.proto', 'fitness.content.v1.Content'),
  media: () => load<MediaDefinition>('media/v1/media.proto', 'fitness.media.v1.Media'),
  storeBilling: () =>
    load<StoreBillingDefinition>(
      'store_billing/v1/store_billing.proto',
      'fitness.store_billing.v1.StoreBilling',
    ),
};
