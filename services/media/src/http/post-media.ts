import type { UserCaller } from '@fitness/shared/caller.ts';
import { invalid, message } from '@fitness/shared/error.ts';
import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { parseInput } from '@fitness/shared/http/validation.ts';
import { mediaSchema } from '@fitness/shared/resources/media.ts';
import { z } from 'zod';
import type { AttachFile, Attachment } from '../app/attach-file.ts';
import { toMedia } from '../app/media-resource.ts';
import type { ReceiveFile } from '../app/receive-file.ts';
import { ATTACHABLE_TYPES, PURPOSE_NAMES } from '../domain/attachable.ts';
import type { StoredFile } from '../domain/media.ts';
import { readUpload, type Upload } from './read-upload.ts';

const fieldsSchema = z.object({
  attachable_type: z.enum(ATTACHABLE_TYPES),
  attachable_id: z
    .string()
    .regex(/^[1-9]\d{0,15}$/)
    .transform(Number)
    .pipe(z.int()),
  purpose: z.enum(PURPOSE_NAMES).optional(),
});

const documentedFields = z.object({
  file: z.string().meta({ format: 'binary' }),
  attachable_type: z.enum(ATTACHABLE_TYPES),
  attachable_id: z.int().positive(),
  purpose: z.enum(PURPOSE_NAMES).optional(),
});

export interface PostMediaParts {
  attachFile: AttachFile;
  receiveFile: ReceiveFile;
  /** How long a form may take to arrive. */
  uploadDeadlineMs: number;
  baseUrl: string;
}

export const postMedia = ({ attachFile, receiveFile, uploadDeadlineMs, baseUrl }: PostMediaParts): Route =>
  defineRoute({
    method: 'POST',
    path: '/media',
    summary: 'Upload a file',
    description:
      'multipart/form-data: `file`, `attachable_type`, `attachable_id`, `purpose?`. At most 25 MiB.',
    tag: 'media',
    access: 'user',
    rawBody: true,
    rawBodySchema: { mediaType: 'multipart/form-data', fields: documentedFields },
    mayRefuse: [403],
    responses: { 201: z.object({ data: mediaSchema }) },
    handle: async ({ caller, request }) => {
      const upload = await readUpload(request, receiveFile, uploadDeadlineMs);
      const attachment = await admit(caller, upload, { attachFile, receiveFile });
      const row = await attachFile.attach(caller, attachment, attachment.stored);
      return created({ data: toMedia(row, baseUrl) });
    },
  });

/** What is to be attached where; throws 422 and 403, and nothing stays stored then. */
const admit = async (
  caller: UserCaller,
  { fields, file }: Upload,
  { attachFile, receiveFile }: Pick<PostMediaParts, 'attachFile' | 'receiveFile'>,
): Promise<Attachment & { stored: StoredFile }> => {
  try {
    const parsed = parseInput(fieldsSchema, fields);
    if (file === undefined) throw invalid({ file: message('validation.required') });
    const target = {
      attachableType: parsed.attachable_type,
      attachableId: parsed.attachable_id,
      purpose: parsed.purpose,
    };
    await attachFile.authorize(caller, target);
    return { ...target, ...file };
  } catch (error) {
    if (file !== undefined) await receiveFile.discard(file.stored);
    throw error;
  }
};
