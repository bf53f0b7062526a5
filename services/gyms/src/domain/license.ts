/** The license of a gym and its review (specification 3.2). */
import { type License, NO_LICENSE } from './gym.ts';

/** What an update requests; undefined was not sent. */
export interface LicenseRequest {
  /** `gym_license_image: null` was sent. */
  clearDocument: boolean;
  approved?: boolean | null | undefined;
  rejectionReason?: string | null | undefined;
}

export interface LicenseOutcome {
  license: License;
  /** The document that the gym no longer has; media must delete it. */
  clearedMediaId: number | null;
  /** Set when the review changed to true or false: the owner is notified. */
  reviewed: boolean | null;
}

const withoutDocument = (license: License): License => ({
  ...NO_LICENSE,
  newestMediaId: license.newestMediaId,
});

/** The reason that counts: an empty one was not sent. */
const reasonOf = ({ rejectionReason }: LicenseRequest): string | null | undefined =>
  rejectionReason?.trim() === '' ? undefined : rejectionReason;

/** Whether the request asks for anything besides an empty reason. */
export const changesLicense = (request: LicenseRequest): boolean =>
  request.clearDocument || request.approved !== undefined || reasonOf(request) !== undefined;

/**
 * Clearing wins over the review fields of the same request, and notifies nobody. A reason alone is stored whatever the state
 * is; an approval and a reset have none.
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
      reviewedMediaId: decided ? (approved === null ? null : license.mediaId) : license.reviewedMediaId,
    },
    clearedMediaId: null,
    reviewed: decided && approved !== license.approved ? approved : null,
  };
};

/**
 * The license of a gym that had the name `from` and has the name `to`: its verdict remembers the name that it was given for.
 * `isVerdict`: it is given with the new name.
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
 * The license after media stored `document`: it replaces the current one and resets the review. Undefined when nothing
 * changes: the gym has already received this document or a newer one. Media reports an upload twice, by a call and by an
 * event, and between the two the document may have been reviewed, cleared or replaced.
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
 * The license after media deleted the document `mediaId`. Undefined when nothing changes: the gym has a newer document.
 * A document newer than the current one had replaced it at media, so that the gym has none then.
 */
export const detachDocument = (license: License, mediaId: number): License | undefined => {
  if (license.mediaId !== mediaId && mediaId <= license.newestMediaId) return undefined;
  return { ...withoutDocument(license), newestMediaId: Math.max(license.newestMediaId, mediaId) };
};
