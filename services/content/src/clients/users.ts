import {
  canSeeAllFields,
  createUserReader,
  type UserReader,
  type UserResource,
} from '@fitness/contracts/user.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { type Caller, can, GUEST } from '@fitness/shared/kernel/caller.ts';
import { shareReadsById } from '@fitness/shared/kernel/share-reads.ts';

type HiddenUsers = ReadonlyMap<number, 'deletion_scheduled' | 'gone'>;

export interface Users extends Pick<UserReader, 'find'> {
  /**
   * The hidden accounts among `ids`; the result may contain other accounts. `gone`: erased or unknown. Throws
   * `unavailable` if identity does not respond.
   */
  hidden(ids: readonly number[]): Promise<HiddenUsers>;
  /**
   * Users by id, as `viewer` may see them; the result may contain other users. Unknown and erased users are missing, and so
   * are users with a pending deletion unless the viewer may see all users. Concurrent calls for public fields share one
   * request that starts after them. Throws `unavailable`.
   */
  sellers(ids: readonly number[], viewer: Caller): Promise<ReadonlyMap<number, UserResource>>;
}

/** The most ids that identity accepts in one call. */
const IDS_MAX = 200;

const inParts = async <Row>(
  ids: readonly number[],
  read: (part: readonly number[]) => Promise<ReadonlyMap<number, Row>>,
): Promise<ReadonlyMap<number, Row>> => {
  if (ids.length <= IDS_MAX) return read(ids);
  const parts = Array.from({ length: Math.ceil(ids.length / IDS_MAX) }, (_, part) =>
    ids.slice(part * IDS_MAX, (part + 1) * IDS_MAX),
  );
  return new Map((await Promise.all(parts.map(read))).flatMap((rows) => [...rows]));
};

export const createUsers = (identity: GrpcClient<IdentityDefinition>): Users => {
  const { find } = createUserReader(identity);
  const findPublic = shareReadsById((ids) =>
    inParts(ids, (part) => find(part, GUEST, { withoutPending: true })),
  );
  const findHidden = shareReadsById((ids) =>
    inParts(ids, async (part) => {
      const answer = await identity.call('GetHiddenUsers', { ids: [...part] }, { retry: true });
      return new Map([
        ...answer.pending_ids.map((id) => [id, 'deletion_scheduled'] as const),
        ...answer.gone_ids.map((id) => [id, 'gone'] as const),
      ]);
    }),
  );
  return {
    find,
    hidden: async (ids) => (ids.length === 0 ? new Map() : findHidden(ids)),
    sellers: async (ids, viewer) => {
      if (ids.length === 0) return new Map();
      const whole = ids.filter((id) => canSeeAllFields(viewer, id));
      const others = ids.filter((id) => !canSeeAllFields(viewer, id));
      const [shared, own] = await Promise.all([
        others.length === 0 ? new Map<number, UserResource>() : findPublic(others),
        find(whole, viewer, { withoutPending: !can(viewer, 'users.view_all') }),
      ]);
      return whole.length === 0 ? shared : new Map([...shared, ...own]);
    },
  };
};
