import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { OauthRecord } from '../../store/oauth.ts';
import type { GrantPayload } from './grant-resource.ts';

interface Grants extends PageOf<OauthRecord> {
  /** The registrations of the grants' clients by client id, as JSON. */
  clients: ReadonlyMap<string, string>;
}

/** Lists the apps that act for the user, newest grant first. */
export const createListGrants =
  ({ store, clock }: Dependencies) =>
  async (userId: number, request: PageRequest): Promise<Grants> => {
    const now = clock.now();
    const window = await store.oauth.listGrants(userId, now, {
      skip: request.mode === 'page' ? request.skip : 0,
      limit: request.perPage + 1,
      beforeNumber: request.mode === 'cursor' ? request.after[0] : undefined,
    });
    const rows = window.slice(0, request.perPage);
    const last = rows.at(-1)?.grant_number ?? undefined;
    const ids = rows.map(({ payload }) => (JSON.parse(payload) as GrantPayload).clientId);
    return {
      rows,
      clients: ids.length === 0 ? new Map() : await store.oauth.findClients(ids),
      total: request.mode === 'page' ? await store.oauth.countGrants(userId, now) : undefined,
      next: window.length > rows.length && last !== undefined ? [last] : undefined,
    };
  };
