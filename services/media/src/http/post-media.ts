import { mediaSchema } from '@fitness/contracts/media.ts';
import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { parseInput } from '@fitness/shared/http/validation.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import type { Attachment } from '../app/attach-file.ts';
import { toMedia } from '../app/media-resource.ts';
import { ATTACHABLE_TYPES, PURPOSE_NAMES } from '../domain/attachable.ts';
import type { StoredFile } from '../domain/media.ts';
import type { UseCases } from '../use-cases.ts';
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

/** With the file, so that a form without it is told every missing field. */
const formSchema = fieldsSchema.extend({ file: z.looseObject({}) });

const documentedFields = z.object({
  file: z.string().meta({ format: 'binary' }),
  ...fieldsSchema.shape,
  attachable_id: z.int().positive(),
});

export interface PostMediaOptions {
  baseUrl: string;
  /** The connection of an upload is closed when its body has not arrived after this time. */
  uploadDeadlineMs: number;
}

export const postMediaRoute = (
  { attachFile, receiveFile }: Pick<UseCases, 'attachFile' | 'receiveFile'>,
  { baseUrl, uploadDeadlineMs }: PostMediaOptions,
): Route =>
  defineRoute({
    method: 'POST',
    path: '/media',
    summary: 'Upload a file',
    description:
      'multipart/form-data: `file`, `attachable_type`, `attachable_id`, `purpose?`. At most 25 MiB. An image has sides of at ' +
      'most 16,384 pixels and at most 1,000 frames, and all its frames together at most 52 megapixels and 1,000,000 rows; ' +
      'otherwise 422 under `file`. A user may have 32 uploads on their way at one time; further ones are 503.',
    tag: 'media',
    access: 'user',
    audits: ['media.upload'],
    rawBody: true,
    rawBodySchema: { mediaType: 'multipart/form-data', fields: documentedFields },
    errorStatuses: [403],
    responses: { 201: z.object({ data: mediaSchema }) },
    handle: async ({ caller, request }) => {
      const upload = await readUpload(request, receiveFile, uploadDeadlineMs);
      const attachment = await authorizeUpload(caller, upload, { attachFile, receiveFile });
      const row = await attachFile.attach(caller, attachment, attachment.stored);
      return created({ data: toMedia(row, baseUrl) });
    },
  });

/** Throws 422 and 403, and then discards the received file. */
const authorizeUpload = async (
  caller: UserCaller,
  { fields, file }: Upload,
  { attachFile, receiveFile }: Pick<UseCases, 'attachFile' | 'receiveFile'>,
): Promise<Attachment & { stored: StoredFile }> => {
  try {
    const parsed = parseInput(formSchema, { ...fields, file });
    if (file === undefined) throw invalid({ file: message('validation.required') });
    const target = {
      attachableType: parsed.attachable_type,
      attachableId: parsed.attachable_id,
      purpose: parsed.purpose,
    };
    return { ...target, ...file, ...(await attachFile.authorize(caller, target)) };
  } catch (error) {
    if (file !== undefined) await receiveFile.discard(file.stored);
    throw error;
  }
};
