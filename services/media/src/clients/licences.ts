/** Tells the owner of a licence of a new document before its upload is answered; the event repeats it. */
import { setTimeout } from 'node:timers/promises';
import type { GymsDefinition } from '@fitness/proto/gen/fitness/gyms/v1/Gyms.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import { isAppError } from '@fitness/shared/error.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { MediaRow } from '../domain/media.ts';

export interface Licences {
  /** Never rejects: the document is stored, and its event arrives even when this call does not. */
  tell(row: Pick<MediaRow, '_id' | 'purpose' | 'attachable_id' | 'filename'>): Promise<void>;
}

export interface LicenceOwners {
  identity: GrpcClient<IdentityDefinition>;
  gyms: GrpcClient<GymsDefinition>;
}

const SAFE_TO_REPEAT = { retry: true };
/** What an upload changes is to be seen at its answer: worth some patience, but no more than a client has. */
const ATTEMPTS = 5;
const PAUSE_MS = 150;

export const createLicences = ({ identity, gyms }: LicenceOwners, log: Logger): Licences => {
  const attach = async (
    row: Pick<MediaRow, '_id' | 'purpose' | 'attachable_id' | 'filename'>,
  ): Promise<void> => {
    const document = { media_id: row._id, filename: row.filename };
    if (row.purpose === 'gym_license') {
      await gyms.call('AttachLicense', { gym_id: row.attachable_id, ...document }, SAFE_TO_REPEAT);
    } else if (row.purpose === 'trainer_license') {
      await identity.call('AttachLicense', { user_id: row.attachable_id, ...document }, SAFE_TO_REPEAT);
    }
  };
  return {
    tell: async (row) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await attach(row);
        } catch (error) {
          const unanswered = isAppError(error) && error.kind === 'unavailable';
          if (unanswered && attempt < ATTEMPTS) {
            await setTimeout(PAUSE_MS * attempt);
            continue;
          }
          const about = { err: error, media_id: row._id, purpose: row.purpose };
          return log.warn(about, 'the owner of a licence hears of it by its event only');
        }
      }
    },
  };
};
