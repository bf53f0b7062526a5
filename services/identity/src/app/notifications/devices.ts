/** The devices that receive push messages. */

import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { notFound, unauthenticated } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import type { Dependencies } from '../../dependencies.ts';
import { PLATFORMS } from '../../domain/platforms.ts';
import type { Device } from '../../store/devices.ts';

export const deviceSchema = z
  .object({
    id: z.int(),
    platform: z.enum(PLATFORMS).meta({ description: 'Operating system of the device' }),
    locale: z.string().meta({ description: 'Language of its push messages' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'Device', description: 'A device that gets push messages' });

export const toDevice = (device: Device): z.output<typeof deviceSchema> => ({
  id: device._id,
  platform: device.platform,
  locale: device.locale,
  created_at: formatTimestamp(device.created_at),
});

/** Registers the device of the caller's session. A new push token replaces the earlier one and keeps the id. */
const createRegisterDevice =
  ({ store, sequences, clock }: Pick<Dependencies, 'store' | 'sequences' | 'clock'>) =>
  async (
    { userId, tokenId }: UserCaller,
    input: Pick<Device, 'push_token' | 'platform' | 'locale'>,
  ): Promise<Device> => {
    const newId = await sequences.next('devices');
    return store.transaction(async (session) => {
      // Conflicts with an erasure and with the revocation of all sessions, which also write the account.
      const isLive = await store.users.touchIfLive(session, userId);
      const now = clock.now();
      const signedIn = isLive ? await store.tokens.findLive(tokenId, now, session) : null;
      if (signedIn === null) throw unauthenticated();
      const own = { user_id: userId, session: tokenId, push_token: input.push_token };
      const existing = await store.devices.find(session, own);
      const device: Device = {
        ...input,
        ...own,
        _id: existing?._id ?? newId,
        created_at: existing?.created_at ?? now,
        expires_at: signedIn.expires_at,
      };
      await store.devices.put(session, device);
      return device;
    });
  };

/** Throws 404 for a device that the account does not have. */
const createRemoveDevice =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (userId: number, id: number): Promise<void> => {
    if (!(await store.devices.delete(userId, id))) throw notFound();
  };

export const createDeviceUseCases = (dependencies: Pick<Dependencies, 'store' | 'sequences' | 'clock'>) => ({
  registerDevice: createRegisterDevice(dependencies),
  removeDevice: createRemoveDevice(dependencies),
});
