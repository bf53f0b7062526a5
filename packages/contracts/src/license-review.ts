/** The parts that the reviews of gym and trainer licenses have in common. */
import { listOf } from '@fitness/shared/http/pagination.ts';
import { AppError, message } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';

/** The code of the 409 of a review whose document has been replaced. */
export const LICENSE_REPLACED = 'license_replaced';

/** A precondition of the request. Null: the gym or the trainer had no document. */
export const reviewedMediaIdField = z
  .int()
  .positive()
  .nullable()
  .optional()
  .meta({
    description:
      'Media id of the license document that you have looked at, from its link; null if there was none. If another document ' +
      'is there by now, the response is 409 and nothing changes. This applies to the whole request, even if it only changes ' +
      'other fields.',
  });

const nameChangesField = z
  .array(
    z
      .object({
        id: z.int(),
        reviewed_name: z
          .string()
          .nullable()
          .meta({ description: 'Name for which the license was reviewed; null if there was none' }),
      })
      .meta({ id: 'LicenseNameChange' }),
  )
  .meta({
    description:
      'The rows of `data` that have been reviewed and whose name has changed since, by their `id`. They follow the rows that ' +
      'nobody has reviewed, and stay until their license is reviewed again.',
  });

const pageMetaSchema = listOf(z.unknown()).shape.meta.extend({ name_changes: nameChangesField }).meta({
  id: 'LicenseReviewPageMeta',
  description: 'Where this page is in the list, and names that have changed since the review',
});

/** The response schema of a list of licenses to review. The names are no fields of the resources. */
export const licenseReviewsOf = <Row extends z.ZodType>(row: Row) =>
  listOf(row).extend({ meta: pageMetaSchema });

/** The 409 of a review whose document has been replaced. */
export const licenseReplacedSchema = z
  .object({ message: z.string(), code: z.enum([LICENSE_REPLACED]) })
  .meta({ id: 'LicenseReplaced' });

/**
 * Throws 409 when the current document is not the one that a review names. Call it in the transaction of the review. Without
 * `named`, the review is for whatever document is there.
 */
export const assertReviewedDocument = (current: number | null, named: number | null | undefined): void => {
  if (named === undefined || named === current) return;
  const text = message('licenses.replaced');
  throw new AppError({
    kind: 'conflict',
    code: LICENSE_REPLACED,
    message: text,
    body: (t) => ({ message: t(text), code: LICENSE_REPLACED }),
  });
};
