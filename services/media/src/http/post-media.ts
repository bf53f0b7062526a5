import { mediaSchema } from '@fitness/contracts/media.ts';
import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { parseInput } from '@fitness/shared/http/validation.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import { withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import type { Attachment } from '../app/attach-file.ts';
import { toMedia } from '../app/media-resource.ts';
import { ATTACHABLE_TYPES, isPurposeOf, PURPOSE_NAMES } from '../domain/attachable.ts';
import type { StoredFile } from '../domain/media.ts';
import type { UseCases } from '../use-cases.ts';
import { readUpload, type Upload } from './read-upload.ts';

const fieldsSchema = z.object({
  attachable_type: z
    .enum(ATTACHABLE_TYPES)
    .meta({ description: 'Model name of what the file is attached to' }),
  attachable_id: z
    .string()
    .regex(/^[1-9]\d{0,15}$/)
    .transform(Number)
    .pipe(z.int()),
  purpose: z.enum(PURPOSE_NAMES).optional().meta({
    description: 'Makes the file a private document. It replaces the previous one with this purpose.',
  }),
});

/** Includes the file, so the response to a form without it names every missing field. */
const formSchema = fieldsSchema
  .extend({ file: z.looseObject({}) })
  .refine(({ attachable_type: type, purpose }) => isPurposeOf(type, purpose), {
    path: ['purpose'],
    // Even if another field is invalid.
    when: () => true,
    ...withMessage('validation.invalid'),
  });

const documentedFields = z.object({
  file: z.string().meta({ format: 'binary', description: 'The file' }),
  ...fieldsSchema.shape,
  attachable_id: z.int().positive().meta({ description: 'Id of what the file is attached to' }),
});

export interface PostMediaOptions {
  baseUrl: string;
  /** The connection of an upload is closed when its body has not arrived after this time. */
  uploadDeadlineMs: number;
}

export const postMediaRoute = (
  { attachFile, receiveFile }: UseCases,
  { baseUrl, uploadDeadlineMs }: PostMediaOptions,
): Route =>
  defineRoute({
    method: 'POST',
    path: '/media',
    summary: 'Upload a file',
    description:
      'Uploads a file as `multipart/form-data` and attaches it to a user, gym, post or training service. You must be ' +
      'allowed to change what you attach it to. A document with a `purpose` can be uploaded only by the owner of the ' +
      'profile or gym.\n\n' +
      'JPEG, PNG, WebP, GIF, PDF and MP4 files of up to 25 MiB are accepted; the content determines the type. The sides of ' +
      'an image may be up to 16,384 pixels long. An animation may have up to 1,000 frames, and all its frames together up ' +
      'to 52 megapixels and 1,000,000 rows. Metadata is removed from images. Up to 5 public files can be attached to a ' +
      'user, 20 to a gym, and 10 to a post or training service. A file beyond these limits returns 422 under `file`. You may ' +
      'have 32 uploads in progress at a time; further ones return 503.',
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

/** Throws 422 and 403, after it has discarded the received file. */
const authorizeUpload = async (
  caller: UserCaller,
  { fields, file, refusal }: Upload,
  { attachFile, receiveFile }: Pick<UseCases, 'attachFile' | 'receiveFile'>,
): Promise<Attachment & { stored: StoredFile }> => {
  try {
    const sent = { ...fields, file: refusal === undefined ? file : {} };
    const parsed = parseInput(formSchema, sent, { file: refusal });
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
