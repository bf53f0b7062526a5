import { setTimeout } from 'node:timers/promises';
import type { GymsDefinition } from '@fitness/proto/gen/fitness/gyms/v1/Gyms.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { MediaRow } from '../domain/media.ts';

type License = Pick<MediaRow, '_id' | 'purpose' | 'attachable_id' | 'filename'>;

/** Client for the services whose resources have a license: gyms and identity. */
export interface LicenseOwners {
  /**
   * Attaches a new license document to its resource, which makes the change visible before the upload's response. Does nothing for
   * other rows. Never rejects, because the row is committed and its event has the same effect later.
   */
  attach(row: License): Promise<void>;
}

interface LicenseOwnerClients {
  identity: GrpcClient<IdentityDefinition>;
  gyms: GrpcClient<GymsDefinition>;
  log: Logger;
}

const SAFE_TO_REPEAT = { retry: true };
/** At most 1.5 seconds of pauses, because the client is waiting for the response to its upload. */
const ATTEMPTS = 5;
const PAUSE_MS = 150;

export const createLicenseOwners = ({ identity, gyms, log }: LicenseOwnerClients): LicenseOwners => {
  const attachOnce = async (row: License): Promise<void> => {
    const document = { media_id: row._id, filename: row.filename };
    if (row.purpose === 'gym_license') {
      await gyms.call('AttachLicense', { gym_id: row.attachable_id, ...document }, SAFE_TO_REPEAT);
    } else if (row.purpose === 'trainer_license') {
      await identity.call('AttachLicense', { user_id: row.attachable_id, ...document }, SAFE_TO_REPEAT);
    }
  };
  return {
    attach: async (row) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await attachOnce(row);
        } catch (error) {
          const unanswered = isAppError(error) && error.kind === 'unavailable';
          if (unanswered && attempt < ATTEMPTS) {
            await setTimeout(PAUSE_MS * attempt);
            continue;
          }
          const about = { err: error, media_id: row._id, purpose: row.purpose };
          return log.warn(about, 'AttachLicense failed; the event attaches the license');
        }
      }
    },
  };
};
