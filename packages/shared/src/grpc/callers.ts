/**
 * Lists which processes may call which RPC. All other calls are refused, and a server does not start with an RPC that is
 * missing here. `docs/process-access.md` shows the list as a table.
 */
import type { AuditLogDefinition } from '@fitness/proto/gen/fitness/common/v1/AuditLog.ts';
import type { BlockersDefinition } from '@fitness/proto/gen/fitness/common/v1/Blockers.ts';
import type { MediaCopiesDefinition } from '@fitness/proto/gen/fitness/common/v1/MediaCopies.ts';
import type { ContentDefinition } from '@fitness/proto/gen/fitness/content/v1/Content.ts';
import type { GymsDefinition } from '@fitness/proto/gen/fitness/gyms/v1/Gyms.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { WalletDefinition } from '@fitness/proto/gen/fitness/wallet/v1/Wallet.ts';
import type { ProcessName } from '../kernel/process-name.ts';

/** The names of the RPCs, without the index signature of the generated types. */
type RpcOf<Definition> = keyof {
  [Name in keyof Definition as string extends Name ? never : number extends Name ? never : Name]: true;
};
type CallersOf<Definition> = Readonly<Record<RpcOf<Definition>, readonly ProcessName[]>>;

/** Callers by the full name of the gRPC service. An RPC without callers does not compile. */
export const RPC_CALLERS = {
  'fitness.common.v1.AuditLog': {
    Count: ['identity'],
    List: ['identity'],
  } satisfies CallersOf<AuditLogDefinition>,
  'fitness.common.v1.Blockers': {
    Evaluate: ['identity'],
  } satisfies CallersOf<BlockersDefinition>,
  'fitness.common.v1.MediaCopies': {
    Save: ['media'],
  } satisfies CallersOf<MediaCopiesDefinition>,
  'fitness.content.v1.Content': {
    GetPosts: ['media'],
    GetTrainingServices: ['media', 'store-billing'],
  } satisfies CallersOf<ContentDefinition>,
  'fitness.gyms.v1.Gyms': {
    AttachLicense: ['media'],
    GetGyms: ['content', 'media', 'store-billing'],
  } satisfies CallersOf<GymsDefinition>,
  'fitness.identity.v1.Identity': {
    AttachLicense: ['media'],
    GetDeletionBlockers: ['gateway'],
    GetHiddenUsers: ['content', 'media'],
    GetUsers: ['gyms', 'media'],
    Introspect: ['gateway'],
    ShowUsers: ['wallet', 'content', 'store-billing'],
  } satisfies CallersOf<IdentityDefinition>,
  'fitness.media.v1.Media': {
    DeleteByPurpose: ['identity', 'gyms'],
    GetCopies: ['identity', 'gyms', 'content'],
  } satisfies CallersOf<MediaDefinition>,
  'fitness.store_billing.v1.StoreBilling': {
    GetBoosts: ['gyms', 'content'],
    GetPrices: ['wallet'],
    GetSubscriptions: ['identity'],
  } satisfies CallersOf<StoreBillingDefinition>,
  'fitness.wallet.v1.Wallet': {
    Book: ['content', 'store-billing'],
    GetRates: ['content'],
  } satisfies CallersOf<WalletDefinition>,
} as const;

const CALLERS: ReadonlyMap<string, readonly ProcessName[]> = new Map(
  Object.entries(RPC_CALLERS).flatMap(([service, rpcs]) =>
    Object.entries<readonly ProcessName[]>(rpcs).map(
      ([name, callers]) => [`/${service}/${name}`, callers] as const,
    ),
  ),
);

/** `path`: `/<service>/<RPC>`. Throws for an RPC that is not listed. */
export const callersOf = (path: string): readonly ProcessName[] => {
  const callers = CALLERS.get(path);
  if (callers === undefined) throw new Error(`no process is declared to call ${path} (callers.ts)`);
  return callers;
};
