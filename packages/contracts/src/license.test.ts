import { describe, expect, test } from '@jest/globals';
import {
  attachDocument,
  clearDocument,
  detachDocument,
  type License,
  NO_LICENSE,
  renameLicense,
  reviewLicense,
  waitsForReview,
} from './license.ts';

const stored: License = { ...NO_LICENSE, image: 'a.pdf', mediaId: 5, newestMediaId: 5 };
const rejected: License = { ...stored, approved: false, rejectionReason: 'No' };
const approved: License = { ...stored, approved: true };
const review = (license: License, request: Omit<Parameters<typeof reviewLicense>[1], 'clearDocument'>) =>
  reviewLicense(license, { clearDocument: false, ...request });

describe('a review (specification 3.2)', () => {
  test.each<[string, License, boolean | null, boolean | null]>([
    ['pending', stored, null, null],
    ['pending', stored, true, true],
    ['pending', stored, false, false],
    ['approved', approved, null, null],
    ['approved', approved, true, null],
    ['approved', approved, false, false],
    ['rejected', rejected, null, null],
    ['rejected', rejected, true, true],
    ['rejected', rejected, false, null],
  ])(
    'a review of a license that is %s notifies only when it changed to true or false',
    (_name, before, value, notified) => {
      const outcome = review(before, { approved: value });
      expect(outcome.license.approved).toBe(value);
      expect(outcome.reviewed).toBe(notified);
      expect(outcome.clearedMediaId).toBeNull();
    },
  );

  test('a rejection keeps its reason until another is sent; approval and reset clear it', () => {
    expect(review(rejected, { approved: false }).license.rejectionReason).toBe('No');
    expect(review(rejected, { rejectionReason: 'Blurred' }).license.rejectionReason).toBe('Blurred');
    expect(review(rejected, { rejectionReason: null }).license.rejectionReason).toBeNull();
    expect(review(rejected, { approved: true }).license.rejectionReason).toBeNull();
    expect(review(rejected, { approved: null }).license.rejectionReason).toBeNull();
  });

  test.each<[License, Omit<Parameters<typeof reviewLicense>[1], 'clearDocument'>, string | null]>([
    [stored, { rejectionReason: 'x' }, 'x'],
    [approved, { rejectionReason: 'x' }, 'x'],
    [{ ...approved, rejectionReason: 'x' }, { rejectionReason: null }, null],
    [stored, { approved: false, rejectionReason: 'x' }, 'x'],
    [stored, { approved: true, rejectionReason: 'x' }, null],
    [rejected, { approved: null, rejectionReason: 'x' }, null],
    [rejected, { rejectionReason: '' }, 'No'],
    [rejected, { approved: false, rejectionReason: ' ' }, 'No'],
    [rejected, { approved: false, rejectionReason: null }, null],
    [rejected, { approved: true, rejectionReason: 'x' }, null],
    [rejected, {}, 'No'],
  ])('a review of %p by %p leaves the reason %p', (license, request, reason) => {
    expect(review(license, request).license.rejectionReason).toBe(reason);
  });

  test('clearing wins over the review fields of the same request', () => {
    const outcome = reviewLicense(rejected, { clearDocument: true, approved: true, rejectionReason: 'x' });
    expect(outcome).toEqual({
      license: { ...NO_LICENSE, newestMediaId: 5 },
      clearedMediaId: 5,
      reviewed: null,
    });
  });
});

describe('a new name', () => {
  const renamed = (license: License, from: string | null, to: string | null, isVerdict = false) =>
    renameLicense(license, { from, to, isVerdict });

  test('a verdict keeps its name until that name returns or a new verdict is given', () => {
    const changed = renamed(approved, 'A', 'B');
    expect(changed.reviewedName).toBe('A');
    expect(waitsForReview(changed)).toBe(true);
    expect(renamed(changed, 'B', 'C').reviewedName).toBe('A');
    expect(renamed(changed, 'B', 'A').reviewedName).toBeNull();
    expect(renamed(changed, 'B', 'B', true).reviewedName).toBeNull();
  });

  test('a new name matters only if there is a verdict', () => {
    expect(renamed(stored, 'A', 'B').reviewedName).toBeNull();
    expect(renamed(approved, 'A', 'B', true).reviewedName).toBeNull();
    expect(renamed(rejected, null, 'B').reviewedName).toBe('');
  });
});

describe('documents that are reported in any order', () => {
  test('a newer document replaces the current one and resets the review', () => {
    expect(attachDocument(approved, { mediaId: 6, filename: 'b.pdf' })).toEqual({
      ...NO_LICENSE,
      image: 'b.pdf',
      mediaId: 6,
      newestMediaId: 6,
    });
  });

  test('the same document, an older one and a cleared one change nothing', () => {
    expect(attachDocument(approved, { mediaId: 5, filename: 'a.pdf' })).toBeUndefined();
    expect(attachDocument(approved, { mediaId: 4, filename: 'z.pdf' })).toBeUndefined();
    const { license } = reviewLicense(approved, { clearDocument: true });
    expect(attachDocument(license, { mediaId: 5, filename: 'a.pdf' })).toBeUndefined();
  });

  test('deleting the current document removes its review; deleting an older one changes nothing', () => {
    expect(detachDocument(approved, 5)).toEqual({ ...NO_LICENSE, newestMediaId: 5 });
    expect(detachDocument(approved, 4)).toBeUndefined();
  });

  test('clearing a document leaves a newer one', () => {
    expect(clearDocument(approved, 5)).toEqual({ ...NO_LICENSE, newestMediaId: 5 });
    expect(clearDocument(approved, 4)).toBe(approved);
  });

  test('a document whose deletion is reported before its upload never becomes the license', () => {
    const license = detachDocument(stored, 6);
    expect(license).toEqual({ ...NO_LICENSE, newestMediaId: 6 });
    expect(attachDocument(license ?? stored, { mediaId: 6, filename: 'b.pdf' })).toBeUndefined();
  });

  type Report = ['stored' | 'deleted', mediaId: number];
  const ordersOf = <Item>(items: readonly Item[]): Item[][] =>
    items.length === 0
      ? [[]]
      : items.flatMap((item, index) => ordersOf(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));
  const licenseAfter = (reports: readonly Report[]): License =>
    reports.reduce<License>((license, [report, mediaId]) => {
      const next =
        report === 'stored'
          ? attachDocument(license, { mediaId, filename: `${mediaId}.pdf` })
          : detachDocument(license, mediaId);
      return next ?? license;
    }, NO_LICENSE);

  test.each<[string, Report[], number | null]>([
    [
      'of three documents the last',
      [1, 2, 3].flatMap((id): Report[] => [
        ['stored', id],
        ['stored', id],
        ...(id < 3 ? [['deleted', id] as Report] : []),
      ]),
      3,
    ],
    [
      'no document after the deletion of the last',
      [1, 2].flatMap((id): Report[] => [
        ['stored', id],
        ['stored', id],
        ['deleted', id],
      ]),
      null,
    ],
  ])('%s is the license in every order of calls and events', (_name, reports, expected) => {
    const ends = new Set(ordersOf(reports).map((order) => licenseAfter(order).mediaId));
    expect([...ends]).toEqual([expected]);
  });
});
