/**
 * The license of a gym or a trainer: a document, and its review by operators (specification 3.2 and 3.3).
 *
 * The newer of two documents of one license has the larger media id: media assigns the id in the transaction that stores
 * the document, after it has locked the target.
 */

export interface License {
  /** File name of the stored document. */
  image: string | null;
  mediaId: number | null;
  /** null: pending, true: approved, false: rejected. */
  approved: boolean | null;
  rejectionReason: string | null;
  /** The name for which the verdict was given, if it has changed since. '' if there was no name. */
  reviewedName: string | null;
  /** The largest media id ever received, whether current or deleted. Messages about smaller ids are ignored. */
  newestMediaId: number;
}

export const NO_LICENSE: License = {
  image: null,
  mediaId: null,
  approved: null,
  rejectionReason: null,
  reviewedName: null,
  newestMediaId: 0,
};

/** Whether an operator should look at the license: it was never reviewed, or the name has changed since. */
export const waitsForReview = (license: License): boolean =>
  (license.mediaId !== null && license.approved === null) || license.reviewedName !== null;

/** The license fields of an update; undefined means not sent. */
export interface LicenseRequest {
  /** Whether null was sent for the image. */
  clearDocument: boolean;
  approved?: boolean | null | undefined;
  rejectionReason?: string | null | undefined;
}

export interface LicenseOutcome {
  license: License;
  /** The removed document, which media must delete. */
  clearedMediaId: number | null;
  /** Set when the review changed to true or false. */
  reviewed: boolean | null;
}

const withoutDocument = (license: License): License => ({
  ...NO_LICENSE,
  newestMediaId: license.newestMediaId,
});

/** Removes the document `mediaId` and its review, unless a newer document is attached. */
export const clearDocument = (license: License, mediaId: number | null): License =>
  (license.mediaId ?? 0) > (mediaId ?? 0) ? license : withoutDocument(license);

/** The reason in a request. An empty reason is treated as not sent. */
const reasonOf = ({ rejectionReason }: LicenseRequest): string | null | undefined =>
  rejectionReason?.trim() === '' ? undefined : rejectionReason;

/** Whether the request has a field of a review. */
export const requestsReview = ({ approved, rejectionReason }: LicenseRequest): boolean =>
  approved !== undefined || rejectionReason !== undefined;

/** Whether the request changes anything besides an empty reason. */
export const changesLicense = (request: LicenseRequest): boolean =>
  request.clearDocument || request.approved !== undefined || reasonOf(request) !== undefined;

/**
 * Clearing takes precedence over the review fields of the same request, and sends no notification. A reason alone
 * is stored in any state. An approval or a reset removes the reason.
 */
export const reviewLicense = (license: License, request: LicenseRequest): LicenseOutcome => {
  if (request.clearDocument) {
    return { license: withoutDocument(license), clearedMediaId: license.mediaId, reviewed: null };
  }
  const approved = request.approved === undefined ? license.approved : request.approved;
  const reason = reasonOf(request);
  const decided = request.approved !== undefined;
  return {
    license: {
      ...license,
      approved,
      rejectionReason:
        decided && approved !== false ? null : reason === undefined ? license.rejectionReason : reason,
    },
    clearedMediaId: null,
    reviewed: decided && approved !== license.approved ? approved : null,
  };
};

/**
 * Returns the license after a name change from `from` to `to`. It keeps the name for which its verdict was given.
 * `isVerdict`: whether the same request gives a verdict for the new name.
 */
export const renameLicense = (
  license: License,
  { from, to, isVerdict }: { from: string | null; to: string | null; isVerdict: boolean },
): License => {
  const reviewed = license.reviewedName ?? from ?? '';
  const isKnown = license.approved === null || isVerdict || reviewed === (to ?? '');
  return { ...license, reviewedName: isKnown ? null : reviewed };
};

/**
 * Returns the license after media stored `document`, which replaces the current document and resets the review.
 * Returns undefined if this document or a newer one has already been received. Media reports an upload twice, by
 * a call and by an event. Between the two, the document may have been reviewed, cleared or replaced.
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
 * Returns the license after media deleted the document `mediaId`, or undefined if there is a newer document. If
 * the deleted document is newer than the current one, it had already replaced the current one in media, and no
 * document is left.
 */
export const detachDocument = (license: License, mediaId: number): License | undefined => {
  if (license.mediaId !== mediaId && mediaId <= license.newestMediaId) return undefined;
  return { ...withoutDocument(license), newestMediaId: Math.max(license.newestMediaId, mediaId) };
};
