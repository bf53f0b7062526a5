/** The media resource (specification 2.7), and its reader. */
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { MediaRow__Output } from '@fitness/proto/gen/fitness/media/v1/MediaRow.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { z } from 'zod';
import { EMBEDDED_DEADLINE_MS } from './embedded.ts';
import { timestampSchema } from './timestamp.ts';

export const mediaSchema = z
  .object({
    id: z.int(),
    attachable_type: z.string().meta({ description: 'A model name, e.g. App\\Models\\Posts\\Post' }),
    attachable_id: z.int(),
    link: z.string(),
    filename: z.string(),
    mime_type: z.string(),
    size: z.int().meta({ description: 'Bytes' }),
    purpose: z.string().nullable().meta({ description: 'null in every public list' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'Media' });

export type MediaResource = z.output<typeof mediaSchema>;

/** With at most 20 files of each, an answer stays below the 4 MiB of a gRPC message, whatever the names of the files. */
const TARGETS_PER_CALL = 50;

/** Other services get public media only, which have no purpose. */
export const fromMediaMessage = (row: MediaRow__Output): MediaResource => ({
  id: row.id,
  attachable_type: row.attachable_type,
  attachable_id: row.attachable_id,
  link: row.link,
  filename: row.filename,
  mime_type: row.mime_type,
  size: row.size,
  purpose: null,
  created_at: row.created_at,
});

export interface MediaReader {
  /**
   * Public media by the id of their target, for targets of one model, in one call for a usual page. Never rejects: targets
   * without an answer in time are missing.
   */
  findOrEmpty(model: string, ids: readonly number[]): Promise<Map<number, MediaResource[]>>;
}

export const createMediaReader = (media: GrpcClient<MediaDefinition>, log: Logger): MediaReader => ({
  findOrEmpty: async (model, ids) => {
    const targets = ids.map((id) => ({ attachable_type: model, attachable_id: id }));
    const find = async (some: typeof targets): Promise<MediaResource[]> => {
      try {
        const answer = await media.call('GetMedia', { targets: some }, { deadlineMs: EMBEDDED_DEADLINE_MS });
        return answer.media.map(fromMediaMessage);
      } catch (error) {
        log.warn({ err: error, model }, 'shown without media');
        return [];
      }
    };
    const calls = Array.from({ length: Math.ceil(ids.length / TARGETS_PER_CALL) }, (_, index) =>
      find(targets.slice(index * TARGETS_PER_CALL, (index + 1) * TARGETS_PER_CALL)),
    );
    return Map.groupBy((await Promise.all(calls)).flat(), (row) => row.attachable_id);
  },
});
