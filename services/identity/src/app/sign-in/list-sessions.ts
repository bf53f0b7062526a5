import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Device } from '../../store/devices.ts';
import type { Token } from '../../store/tokens.ts';

export interface SessionRow {
  row: Token;
  /** The device that the session has registered. */
  device: Device | undefined;
}

interface ListSessionsDependencies extends Dependencies {
  listTokens(userId: number, request: PageRequest): Promise<PageOf<Token>>;
}

/** Live sessions of a user, newest first, with their devices. */
export type ListSessions = (userId: number, request: PageRequest) => Promise<PageOf<SessionRow>>;

export const createListSessions =
  ({ store, listTokens }: ListSessionsDependencies): ListSessions =>
  async (userId, request) => {
    const page = await listTokens(userId, request);
    const hashes = page.rows.map(({ _id }) => _id);
    const devices = hashes.length === 0 ? [] : await store.devices.ofSessions(userId, hashes);
    const bySession = new Map(devices.map((device) => [device.session, device]));
    return { ...page, rows: page.rows.map((row) => ({ row, device: bySession.get(row._id) })) };
  };
