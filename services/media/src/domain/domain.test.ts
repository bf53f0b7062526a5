import { describe, expect, test } from '@jest/globals';
import { attachableKind } from './attachable.ts';
import { attachmentHeader, cleanFilename } from './file-types.ts';
import { frameRanges, parseRanges } from './range.ts';

describe('the file name', () => {
  test.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\me\\license.pdf', 'license.pdf'],
    ['مجوز باشگاه.pdf', 'مجوز باشگاه.pdf'],
    ['a\r\nSet-Cookie: x=1.png', 'aSet-Cookie: x=1.png'],
    ['invoice\u202efdp.exe', 'invoicefdp.exe'],
    ['a\u061cb\u2028c.png', 'abc.png'],
    ['\u202egnp.exe\u2066', 'gnp.exe'],
    ['a\u0001\u001b[31m\u007f.png\0.html', 'a[31m.png.html'],
    ['👩‍👩‍👧‍👦🏳️‍🌈.png', '👩‍👩‍👧‍👦🏳️‍🌈.png'],
    ['می\u200cخواهم 💪.pdf', 'می\u200cخواهم 💪.pdf'],
    [`${'x'.repeat(300)}.png`, `${'x'.repeat(116)}.png`],
    [`${'💪'.repeat(300)}.jpeg`, `${'💪'.repeat(115)}.jpeg`],
    ['x'.repeat(300), 'x'.repeat(120)],
    [`x.${'y'.repeat(300)}`, `x.${'y'.repeat(118)}`],
    [`.${'y'.repeat(10)}`, `.${'y'.repeat(10)}`],
    [`a\ud83d${'💪'.repeat(119)}💪`, `a${'💪'.repeat(119)}`],
    ['..', 'file'],
    ['...', 'file'],
    ['../../', 'file'],
    ['', 'file'],
    [undefined, 'file'],
  ])('the file name %j is stored as %j', (name, expected) => {
    expect(cleanFilename(name)).toBe(expected);
  });

  test('cleaning a file name takes little time for any length', () => {
    const name = `a${'\u0301'.repeat(20_000)}${'\u0323'.repeat(20_000)}.png`;
    const start = process.cpuUsage();
    expect(cleanFilename(name)).toMatch(/^.{116}\.png$/u);
    const { user, system } = process.cpuUsage(start);
    // Without the limit, it would take seconds.
    expect(user + system).toBeLessThan(250_000);
  });

  test('a file name in any script is safe in a header', () => {
    const header = attachmentHeader('مجوز "1".pdf');
    expect(header).toMatch(/^[\x20-\x7e]+$/);
    expect(header).toContain(`filename*=UTF-8''${encodeURIComponent('مجوز "1".pdf')}`);
    expect(header.match(/"/g)).toHaveLength(2);
  });
});

describe('byte ranges', () => {
  test.each([
    ['bytes=0-9', [{ start: 0, end: 9 }]],
    ['BYTES=0-9', [{ start: 0, end: 9 }]],
    ['bytes=90-', [{ start: 90, end: 99 }]],
    ['bytes=90-1000', [{ start: 90, end: 99 }]],
    ['bytes=-10', [{ start: 90, end: 99 }]],
    ['bytes=-1000', [{ start: 0, end: 99 }]],
    [
      'bytes=5-6, 0-1',
      [
        { start: 5, end: 6 },
        { start: 0, end: 1 },
      ],
    ],
    ['bytes=0-1,100-', [{ start: 0, end: 1 }]],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=100-,-0', 'unsatisfiable'],
    ['bytes=9-0', 'unsatisfiable'],
    ['bytes=0-1,x', 'unsatisfiable'],
    ['bytes=', 'unsatisfiable'],
    ['bytes=-', 'unsatisfiable'],
    ['bytes=0-,0-', 'unsatisfiable'],
    ['bytes=99-', [{ start: 99, end: 99 }]],
    ['bytes=-18446744073709551615', [{ start: 0, end: 99 }]],
    [`bytes=1-${'9'.repeat(5_000)}`, [{ start: 1, end: 99 }]],
    [`bytes=${'0'.repeat(30)}7-0008`, [{ start: 7, end: 8 }]],
    ['bytes=,2-3', [{ start: 2, end: 3 }]],
    ['bytes=2-3, ,', [{ start: 2, end: 3 }]],
    ['bytes=-0,2-3', [{ start: 2, end: 3 }]],
    ['bytes= 2-3 ', [{ start: 2, end: 3 }]],
    ['bytes=-0', 'unsatisfiable'],
    [`bytes=${'9'.repeat(5_000)}-`, 'unsatisfiable'],
    ['bytes=18446744073709551616-18446744073709551615', 'unsatisfiable'],
    ['bytes=,', 'unsatisfiable'],
    ['bytes=--1', 'unsatisfiable'],
    ['bytes=-1-2', 'unsatisfiable'],
    ['bytes=0x0-0x1', 'unsatisfiable'],
    ['bytes=1e0-2', 'unsatisfiable'],
    ['bytes=+1-2', 'unsatisfiable'],
    ['bytes=1.0-2', 'unsatisfiable'],
    ['bytes=0 - 1', 'unsatisfiable'],
    ['bytes=0-1;2-3', 'unsatisfiable'],
    ['bytes=0-60,30-99', 'unsatisfiable'],
    [`bytes=${Array(16).fill('0-0').join(',')}`, Array(16).fill({ start: 0, end: 0 })],
    [`bytes=${Array(17).fill('0-0').join(',')}`, 'unsatisfiable'],
    ['items=0-1', undefined],
    ['nonsense', undefined],
    ['bytes', undefined],
    ['bytes 0-1', undefined],
    ['=0-1', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('the range %s of 100 bytes is parsed', (header, ranges) => {
    expect(parseRanges(header, 100)).toEqual(ranges);
  });

  test('the frame of several ranges has the length of the whole body', () => {
    const ranges = [
      { start: 0, end: 1 },
      { start: 5, end: 9 },
    ];
    const frame = frameRanges(ranges, { size: 10, mimeType: 'image/png', boundary: 'b' });
    expect(frame.heads[1]?.toString()).toBe(
      '\r\n--b\r\ncontent-type: image/png\r\ncontent-range: bytes 5-9/10\r\n\r\n',
    );
    expect(frame.tail.toString()).toBe('\r\n--b--\r\n');
    const heads = frame.heads.reduce((sum, head) => sum + head.length, 0);
    expect(frame.length).toBe(heads + frame.tail.length + 7);
  });
});

test('an inherited property is not an attachable type', () => {
  expect(attachableKind('toString')).toBeUndefined();
});
