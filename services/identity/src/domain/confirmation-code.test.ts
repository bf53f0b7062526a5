import { expect, test } from '@jest/globals';
import { CODE_LIFETIME_MS, codeMatches, hashCode, issueCode } from './confirmation-code.ts';
import { scheduleDeletion } from './deletion.ts';

const now = new Date('2026-01-15T10:00:00.700Z');

test('a code is valid for ten minutes and matches only its own digits', () => {
  const code = issueCode('a', '012345', now);
  expect(code.expires_at.getTime() - now.getTime()).toBe(CODE_LIFETIME_MS);
  expect(CODE_LIFETIME_MS).toBe(600_000);
  expect(codeMatches(code, '012345')).toBe(true);
  expect(codeMatches(code, '12345')).toBe(false);
  expect(codeMatches(code, '')).toBe(false);
});

test('two codes with the same digits have different hashes', () => {
  expect(hashCode('a', '111111')).not.toBe(hashCode('b', '111111'));
});

test('a deletion is scheduled one grace period after the request, in whole seconds', () => {
  const dates = scheduleDeletion(now, 14);
  expect(dates.requestedAt.toISOString()).toBe('2026-01-15T10:00:00.000Z');
  expect(dates.scheduledAt.toISOString()).toBe('2026-01-29T10:00:00.000Z');
});
