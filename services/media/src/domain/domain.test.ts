import { describe, expect, test } from '@jest/globals';
import { attachableKind } from './attachable.ts';
import { attachmentHeader, cleanFilename } from './file-types.ts';
import { parseRange } from './range.ts';

describe('the name of a file', () => {
  test.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\me\\licence.pdf', 'licence.pdf'],
    ['مجوز باشگاه.pdf', 'مجوز باشگاه.pdf'],
    ['a\r\nSet-Cookie: x=1.png', 'aSet-Cookie: x=1.png'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['..', 'file'],
    ['', 'file'],
    [undefined, 'file'],
  ])('%j is kept as %j', (given, kept) => {
    expect(cleanFilename(given)).toBe(kept);
  });

  test('is header-safe in any script', () => {
    const header = attachmentHeader('مجوز "1".pdf');
    expect(header).toMatch(/^[\x20-\x7e]+$/);
    expect(header).toContain(`filename*=UTF-8''${encodeURIComponent('مجوز "1".pdf')}`);
    expect(header.match(/"/g)).toHaveLength(2);
  });
});

describe('a byte range', () => {
  test.each([
    ['bytes=0-9', { start: 0, end: 9 }],
    ['bytes=90-', { start: 90, end: 99 }],
    ['bytes=90-1000', { start: 90, end: 99 }],
    ['bytes=-10', { start: 90, end: 99 }],
    ['bytes=-1000', { start: 0, end: 99 }],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=9-0', undefined],
    ['bytes=0-1,5-6', undefined],
    ['items=0-1', undefined],
    [undefined, undefined],
  ])('%s of 100 bytes', (header, range) => {
    expect(parseRange(header, 100)).toEqual(range);
  });
});

test('an inherited property is no attachable type', () => {
  expect(attachableKind('toString')).toBeUndefined();
});
