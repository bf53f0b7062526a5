/** Tells the owner of a licence of a new document before its upload is answered; the event repeats it. */
import type { GymsDefinition } from '@fitness/proto/gen/fitness/gyms/v1/Gyms.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { MediaRow } from '../domain/media.ts';

export interface Licences {
  /** Never rejects: the document is stored, and its event arrives even when this call does not. */
  tell(row: Pick<MediaRow, '_id' | 'purpose' | 'attachable_id' | 'filename'>): Promise<void>;
}

export const createLicences = (gyms: GrpcClient<GymsDefinition>, log: Logger): Licences => ({
  tell: async (row) => {
    if (row.purpose !== 'gym_license') return;
    const request = { gym_id: row.attachable_id, media_id: row._id, filename: row.filename };
    try {
      await gyms.call('AttachLicense', request, { retry: true });
    } catch (error) {
      log.warn({ err: error, media_id: row._id }, 'gyms hears of a licence by its event only');
    }
  },
});
