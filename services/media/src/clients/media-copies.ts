import { setTimeout } from 'node:timers/promises';
import type { TargetCopy } from '@fitness/contracts/media-copy.ts';
import type { MediaCopiesDefinition } from '@fitness/proto/gen/fitness/common/v1/MediaCopies.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { isAppError, outcomeUnknown } from '@fitness/shared/kernel/error.ts';
import { type AttachableKind, attachableKind } from '../domain/attachable.ts';

export interface MediaCopies {
  /**
   * Resolves when the lists of the target's service show the files. Throws `outcome_unknown` when the service does
   * not respond. The change is committed then, and its event makes it visible later.
   */
  save(copy: TargetCopy): Promise<void>;
}

const SAFE_TO_REPEAT = { retry: true };
/** At most 1.5 seconds of pauses, because the client is waiting for the response. */
const ATTEMPTS = 5;
const PAUSE_MS = 150;

export const createMediaCopies = (
  owners: Readonly<Record<'identity' | 'gyms' | 'content', GrpcClient<MediaCopiesDefinition>>>,
): MediaCopies => {
  const clients: Record<AttachableKind, GrpcClient<MediaCopiesDefinition>> = {
    user: owners.identity,
    gym: owners.gyms,
    post: owners.content,
    training_service: owners.content,
  };
  return {
    save: async ({ model, id, version, files }) => {
      const kind = attachableKind(model);
      if (kind === undefined) throw new Error(`no service keeps the files of ${model}`);
      const copy = { target: { attachable_type: model, attachable_id: id }, version, files: [...files] };
      for (let attempt = 1; ; attempt += 1) {
        try {
          await clients[kind].call('Save', copy, SAFE_TO_REPEAT);
          return;
        } catch (error) {
          const unanswered = isAppError(error) && error.kind === 'unavailable';
          if (!unanswered || attempt >= ATTEMPTS)
            throw outcomeUnknown(`no list shows the change of ${model} ${id} yet`, error);
          await setTimeout(PAUSE_MS * attempt);
        }
      }
    },
  };
};
