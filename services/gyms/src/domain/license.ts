/** The licence review of a gym (specification 3.2, contract 4): pure transitions. */
import { type License, NO_LICENSE } from './gym.ts';

/** What an update says about the licence; an absent key was not sent. */
export interface LicenseRequest {
  /** `gym_license_image: null` was sent. */
  clearDocument: boolean;
  approved?: boolean | null;
  rejectionReason?: string | null;
}

export interface LicenseOutcome {
  license: License;
  /** The document that is gone now and has to be deleted where it is stored. */
  clearedMediaId: number | null;
  /** Set when the review changed to true or false: its owner is told. */
  reviewed: boolean | null;
}

const withoutDocument = (license: License): License => ({
  ...NO_LICENSE,
  newestMediaId: license.newestMediaId,
});

/** Clearing wins over review fields of the same request, and nobody is told then. */
export const reviewLicense = (license: License, request: LicenseRequest): LicenseOutcome => {
  if (request.clearDocument) {
    return { license: withoutDocument(license), clearedMediaId: license.mediaId, reviewed: null };
  }
  const approved = request.approved === undefined ? license.approved : request.approved;
  const reason = request.rejectionReason === undefined ? license.rejectionReason : request.rejectionReason;
  const decided = request.approved !== undefined;
  return {
    license: {
      ...license,
      approved,
      // A reason belongs to a rejection: approving, or resetting to pending, leaves none.
      rejectionReason: decided && approved !== false ? null : reason,
      reviewedMediaId: decided ? (approved === null ? null : license.mediaId) : license.reviewedMediaId,
    },
    clearedMediaId: null,
    reviewed: decided && approved !== license.approved ? approved : null,
  };
};

/**
 * A document was stored at media. It becomes the licence and resets the review, unless the gym already knows of it or
 * of a newer one: the upload tells of it at once and an event repeats it later, and in between it may have been
 * reviewed, cleared or replaced.
 */
export const attachDocument = (
  license: License,
  document: { mediaId: number; filename: string },
): License | undefined => {
  if (document.mediaId <= license.newestMediaId) return undefined;
  return {
    ...NO_LICENSE,
    image: document.filename,
    mediaId: document.mediaId,
    newestMediaId: document.mediaId,
  };
};

/**
 * A document was deleted at media. Undefined when nothing changes for the gym: it has a newer one. One that is newer
 * than ours had replaced ours before it was deleted, so nothing is left then.
 */
export const forgetDocument = (license: License, mediaId: number): License | undefined => {
  if (license.mediaId !== mediaId && mediaId <= license.newestMediaId) return undefined;
  return { ...withoutDocument(license), newestMediaId: Math.max(license.newestMediaId, mediaId) };
};
