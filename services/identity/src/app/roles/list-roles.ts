import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Role } from '../../domain/roles.ts';

/** Lists roles in the order of their ids. */
export const createListRoles =
  ({ store }: Dependencies) =>
  async (request: PageRequest): Promise<PageOf<Role>> => {
    const all = await store.roles.findAll();
    const start =
      request.mode === 'page' ? request.skip : all.findIndex((role) => role._id > (request.after[0] ?? 0));
    const rows = start < 0 ? [] : all.slice(start, start + request.perPage);
    const last = rows.at(-1);
    const more = last !== undefined && last !== all.at(-1);
    return { rows, total: all.length, next: more ? [last._id] : undefined };
  };
