/**
 * Copies of the metadata of a resource's public files. The resource's service stores them with the resource, and
 * lists show the files without a call (docs/adr/0101). A copy only decides what is shown. At each download, the
 * owner of the target decides whether the user may read the file.
 */
import type { MediaCopy__Output } from '@fitness/proto/gen/fitness/common/v1/MediaCopy.ts';
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Progress } from '@fitness/shared/kernel/progress.mjs';
import type { MediaResource } from './media.ts';

export type MediaFile = Pick<MediaResource, 'id' | 'filename' | 'mime_type' | 'size' | 'created_at'>;

export interface MediaCopy {
  /** Version of the target's public files; a larger one is newer. */
  version: number;
  /** The oldest first. */
  files: readonly MediaFile[];
}

/** The copy of a new target. */
export const NO_MEDIA: MediaCopy = { version: 0, files: [] };

/** The name is cosmetic: the id alone selects the file. */
export const mediaLink = (baseUrl: string, { id, filename }: Pick<MediaFile, 'id' | 'filename'>): string =>
  `${baseUrl}/api/v1/media/${id}/${encodeURIComponent(filename)}`;

/** `baseUrl`: the public origin. */
export const toMediaResources = (
  model: string,
  targetId: number,
  { files }: MediaCopy,
  baseUrl: string,
): MediaResource[] =>
  files.map((file) => ({
    id: file.id,
    attachable_type: model,
    attachable_id: targetId,
    link: mediaLink(baseUrl, file),
    filename: file.filename,
    mime_type: file.mime_type,
    size: file.size,
    purpose: null,
    created_at: file.created_at,
  }));

export interface TargetCopy extends MediaCopy {
  model: string;
  id: number;
}

const toCopy = ({ target, version, files }: MediaCopy__Output): TargetCopy => {
  if (target === null) throw invalid({ target: message('validation.required') });
  return { model: target.attachable_type, id: target.attachable_id, version, files };
};

/** `fitness.common.v1.MediaCopies`. */
export const mediaCopiesService = (save: (copy: TargetCopy) => Promise<void>): GrpcService =>
  grpcService(grpcDefinitions.mediaCopies(), {
    Save: async (request) => {
      await save(toCopy(request));
      return {};
    },
  });

export interface MediaCopyReader {
  /**
   * Returns one copy for each of at most {@link MEDIA_COPIES_MAX} ids. Throws `unavailable` if there is no
   * response.
   */
  find(model: string, ids: readonly number[]): Promise<TargetCopy[]>;
}

/**
 * A target has at most 20 files. A response therefore stays below the 4 MiB limit of gRPC, however long the file
 * names are.
 */
export const MEDIA_COPIES_MAX = 50;

const FIND = { deadlineMs: 3_000, retry: true };

export const createMediaCopyReader = (media: GrpcClient<MediaDefinition>): MediaCopyReader => ({
  find: async (model, ids) => {
    const targets = ids.map((id) => ({ attachable_type: model, attachable_id: id }));
    return (await media.call('GetCopies', { targets }, FIND)).copies.map(toCopy);
  },
});

interface MediaCopiesOptions<Session> {
  mediaCopies: MediaCopyReader;
  /** Functions by model. Each stores a copy with its target, unless there is a newer copy or no target. */
  saves: ReadonlyMap<string, (session: Session, id: number, copy: MediaCopy) => Promise<void>>;
  transaction(save: (session: Session) => Promise<void>): Promise<void>;
}

/** The use cases of a service that keeps copies. They ignore the targets of other services. */
export const createMediaCopies = <Session>({
  mediaCopies,
  saves,
  transaction,
}: MediaCopiesOptions<Session>) => {
  const saveMediaCopy = async ({ model, id, ...copy }: TargetCopy): Promise<void> => {
    const save = saves.get(model);
    if (save !== undefined) await transaction((session) => save(session, id, copy));
  };
  return {
    saveMediaCopy,

    /** Asks media for the files of one target, in the transaction of an event. Throws `unavailable`. */
    refreshMedia: async (session: Session, model: string, id: number): Promise<void> => {
      const save = saves.get(model);
      if (save === undefined) return;
      for (const copy of await mediaCopies.find(model, [id])) await save(session, id, copy);
    },

    /** Asks media for the files of all these targets. Throws `unavailable`. */
    rebuildMedia: async (
      model: string,
      ids: readonly number[],
      progress: Progress,
      doing = 'files',
    ): Promise<void> => {
      for (let start = 0; start < ids.length; start += MEDIA_COPIES_MAX) {
        const some = ids.slice(start, start + MEDIA_COPIES_MAX);
        for (const copy of await mediaCopies.find(model, some)) await saveMediaCopy(copy);
        progress.advance(doing, some.length);
      }
    },
  };
};
