import { describe, expect, test } from '@jest/globals';
import { isInTheFuture } from './birth-date.ts';
import { given } from './changes.ts';
import { canonicalLogin, loginKeysOf } from './login.ts';
import { localPhone, normalizePhone } from './phone.ts';
import { normalizeReferralCode, toReferralCode } from './referral-code.ts';
import { carriedBy, holdsAll, permissionsOf, SEEDED_ROLES } from './roles.ts';
import { indexText, searchQuery } from './search-text.ts';
import { buildToken, hashToken, isWellFormedToken } from './token.ts';
import { reviewLicence } from './trainer-license.ts';

describe('normalizePhone', () => {
  test.each([
    ['09121234567', '+989121234567'],
    ['9121234567', '+989121234567'],
    ['00989121234567', '+989121234567'],
    ['+98 912 123 4567', '+989121234567'],
    ['۰۹۱۲۱۲۳۴۵۶۷', '+989121234567'],
    ['+4915112345678', '+4915112345678'],
    ['+1 (415) 555-2671', '+14155552671'],
  ])('%s is %s', (input, expected) => expect(normalizePhone(input)).toBe(expected));

  test.each(['', 'abc', '12', '+98912', 'call 09121234567', '+989121234567 ext. 5', '0'.repeat(50)])(
    '%s is none',
    (input) => expect(normalizePhone(input)).toBeUndefined(),
  );

  test('the local spelling is that of Iranian numbers alone', () => {
    expect(localPhone('+989121234567')).toBe('09121234567');
    expect(localPhone('+14155552671')).toBeUndefined();
  });
});

describe('a login', () => {
  test('means a phone before an e-mail before a user name', () => {
    expect(loginKeysOf(' 09121234567 ')).toEqual([
      'phone:+989121234567',
      'email:09121234567',
      'username:09121234567',
    ]);
    expect(loginKeysOf('Some.Name')).toEqual(['email:some.name', 'username:some.name']);
  });

  test('has one text for all spellings', () => {
    expect(canonicalLogin('0912 123 4567')).toBe(canonicalLogin('+989121234567'));
    expect(canonicalLogin('Some.Name ')).toBe(canonicalLogin('some.name'));
  });
});

describe('a token', () => {
  const token = buildToken('personal', Buffer.alloc(30, 1));

  test('names its kind, holds 240 random bits, and ends with a checksum', () => {
    expect(token).toMatch(/^fpp_[A-Za-z0-9_-]{40}[0-9a-f]{8}$/);
    expect(isWellFormedToken(token)).toBe(true);
  });

  test('with any one character changed is recognised as none of ours', () => {
    for (let at = 0; at < token.length; at += 1) {
      const other = token[at] === 'a' ? 'b' : 'a';
      expect(isWellFormedToken(token.slice(0, at) + other + token.slice(at + 1))).toBe(false);
    }
  });

  test('needs all of its randomness', () => {
    expect(() => buildToken('session', Buffer.alloc(16))).toThrow();
  });

  test('is stored as its SHA-256', () => {
    expect(hashToken('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});

describe('roles', () => {
  test('allow together what any of them allows; unknown names allow nothing', () => {
    const role = (permissions: string[]) => ({ _id: 9, name: 'x', title: 'X', permissions });
    expect(permissionsOf([role(['posts.view']), role(['posts.view', 'gyms.create', 'gone.away'])])).toEqual(
      new Set(['posts.view', 'gyms.create']),
    );
  });

  test('a token never carries more than its user holds', () => {
    const held = new Set(['posts.view', 'gyms.create'] as const);
    expect(carriedBy({ permissions: null }, held)).toEqual(['posts.view', 'gyms.create']);
    expect(carriedBy({ permissions: ['gyms.create', 'users.delete'] }, held)).toEqual(['gyms.create']);
    expect(carriedBy({ permissions: [] }, held)).toEqual([]);
  });

  test('holdsAll', () => {
    expect(holdsAll(new Set(['a', 'b']), ['a'])).toBe(true);
    expect(holdsAll(new Set(['a']), ['a', 'b'])).toBe(false);
    expect(holdsAll(new Set(), [])).toBe(true);
  });

  test('only the administrator manages roles', () => {
    const managers = SEEDED_ROLES.filter((role) => role.permissions.includes('roles.manage'));
    expect(managers.map((role) => role.name)).toEqual(['administrator']);
  });
});

describe('reviewLicence', () => {
  const current = {
    trainer_license_image: 'l.pdf',
    trainer_license_media_id: 1,
    trainer_license_approved: false,
    trainer_license_rejection_reason: 'blurred',
  };
  const outcome = (approved: boolean | null, reason: string | null) => ({
    trainer_license_approved: approved,
    trainer_license_rejection_reason: reason,
  });
  test.each([
    [{}, {}],
    [{ approved: true }, outcome(true, null)],
    [{ approved: null }, outcome(null, null)],
    [{ approved: true, reason: 'x' }, outcome(true, null)],
    [{ approved: false }, outcome(false, 'blurred')],
    [{ approved: false, reason: 'torn' }, outcome(false, 'torn')],
    [{ reason: 'torn' }, outcome(false, 'torn')],
    [{ reason: null }, outcome(false, null)],
  ])('%p', (review, expected) => expect(reviewLicence(current, review)).toEqual(expected));
});

test('a reason without a rejection is none', () => {
  const pending = {
    trainer_license_image: null,
    trainer_license_media_id: null,
    trainer_license_approved: null,
    trainer_license_rejection_reason: null,
  };
  expect(reviewLicence(pending, { reason: 'x' })).toMatchObject({ trainer_license_rejection_reason: null });
});

describe('search', () => {
  const contains = (parts: string[], search: string): boolean => {
    const row = indexText(parts);
    const query = searchQuery(search);
    if (query === undefined) return true;
    return (
      query.grams.every((gram) => row.grams.includes(gram)) &&
      query.texts.some((text) => row.text.includes(text))
    );
  };

  test.each([
    [['Sara Kaveh'], 'ra ka', true],
    [['علي'], 'على', true],
    [['می‌روم'], 'میروم', true],
    [['می‌روم'], 'می روم', true],
    [['ab', 'cd'], 'bc', false],
    [['ab', 'cd'], 'b\nc', false],
    [['abcab'], 'cabc', false],
    [['x'], '   ', true],
  ])('%p and %p: %p', (parts, search, expected) => expect(contains(parts, search)).toBe(expected));
});

test('a day is in the future when it is nowhere yet', () => {
  const now = new Date('2026-03-01T12:00:00Z');
  expect(isInTheFuture('2026-03-01', now)).toBe(false);
  expect(isInTheFuture('2026-03-02', now)).toBe(false);
  expect(isInTheFuture('2026-03-03', now)).toBe(true);
});

test('referral codes have eight unmistakable characters, and are read in any case', () => {
  const code = toReferralCode(Buffer.from([0, 31, 32, 63, 128, 200, 254, 255]));
  expect(code).toMatch(/^[2-9A-HJ-NP-Z]{8}$/);
  expect(normalizeReferralCode(` ${code.toLowerCase()}`)).toBe(code);
});

test('given keeps null and drops what was not given', () => {
  expect(given({ a: null, b: undefined, c: 0 })).toEqual({ a: null, c: 0 });
});
