import { describe, expect, test } from '@jest/globals';
import { fileTypeFromBuffer } from 'file-type';
import { acceptedType, SNIFF_BYTES } from './file-types.ts';

const typeOf = async (content: Buffer): Promise<string | undefined> => {
  const head = content.subarray(0, SNIFF_BYTES);
  return acceptedType((await fileTypeFromBuffer(head))?.mime, head);
};

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const box = (brand: string): Buffer =>
  Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from(`ftyp${brand}`), Buffer.alloc(64)]);
/** A file that starts with ID3 tags, which the type detection skips. */
const song = (tags: Buffer, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from('ID3\x03\x00\x00\x00\x00\x00'), Buffer.from([tags.length]), tags, content]);

describe('the type of a file', () => {
  test.each([
    ['image/png', PNG],
    ['image/jpeg', Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(64)])],
    ['image/gif', Buffer.from('GIF89a\x01\0\x01\0')],
    ['image/gif', Buffer.from('GIF87a\x01\0\x01\0')],
    ['image/webp', Buffer.from('RIFF\x40\0\0\0WEBPVP8 ')],
    ['application/pdf', Buffer.from('%PDF-1.7\n')],
  ])('a file with the signature of %s has this type', async (type, content) => {
    expect(await typeOf(content)).toBe(type);
  });

  // Brands of phones and their apps: Apple, 3GPP (GSM) and 3GPP2 (CDMA), Sony, Adobe, and those that name a codec or an edition.
  test.each([
    ...['isom', 'mp42', 'M4V ', 'M4VH', 'M4VP', '3gp4', '3gp5', '3gp6', '3gr6', '3gs7', '3ge6'],
    ...['3g2a', '3g2b', '3g2c', 'MSNV', 'F4V ', 'avc1', 'hvc1', 'iso2', 'iso4', 'iso5', 'iso6'],
    ...['iso9', 'mp41', 'mmp4', 'dash'],
  ])('a film of the brand %s is an MP4', async (brand) => {
    expect(await typeOf(box(brand))).toBe('video/mp4');
  });

  test.each<[string, Buffer]>([
    ['HTML', Buffer.from('<html><script>alert(1)</script></html>')],
    ['HTML after a byte order mark', Buffer.from('\ufeff<!doctype html><p>x')],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    [
      'SVG with an XML declaration',
      Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'),
    ],
    ['plain text', Buffer.from('GIF, or so it says')],
    ['a program', Buffer.concat([Buffer.from('MZ'), Buffer.alloc(200)])],
    ['an archive', Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(200)])],
    ['a QuickTime film', box('qt  ')],
    ['a song in the container of MP4', box('M4A ')],
    ['a photo in the container of MP4', box('heic')],
    ['HTML with the brand of a 3GPP film', Buffer.from('<!--ftyp3gp4--><script>alert(1)</script>')],
    ['HTML with the brand of an MP4', Buffer.from('<!--ftypisom--><script>alert(1)</script>')],
    ['HTML in ID3 tags before a PNG', song(Buffer.from('<script>alert(1)</script>'), PNG)],
    [
      'HTML in ID3 tags before a JPEG',
      song(Buffer.from('<script>'), Buffer.from('\xff\xd8\xff\xe0'.repeat(9), 'latin1')),
    ],
    ['HTML in ID3 tags before a PDF', song(Buffer.from('<script>'), Buffer.from('%PDF-1.7\n'))],
    ['a PNG after a byte order mark', Buffer.concat([Buffer.from('\ufeff'), PNG])],
    ['HTML after blanks, before a PNG', Buffer.concat([Buffer.from(' \n<html>'), PNG])],
    ['SVG before a PDF', Buffer.from('<svg onload="alert(1)"/>%PDF-1.7')],
    [
      'an archive that contains a PDF',
      Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(60), Buffer.from('%PDF-1.7')]),
    ],
    ['a PDF after blank lines', Buffer.from('\n\n%PDF-1.7\n')],
    ['a PDF without a version', Buffer.from('%PDF<script>alert(1)</script>')],
    ['a PNG without its first byte', PNG.subarray(1)],
    [
      'the first bytes of a picture, then HTML',
      Buffer.concat([PNG.subarray(0, 8), Buffer.from('<html><script>alert(1)</script>')]),
    ],
    ['a WAVE file in the container of WebP', Buffer.from('RIFF\x40\x00\x00\x00WAVEfmt <script>')],
  ])('a file of another type is not accepted: %s', async (_name, content) => {
    expect(await typeOf(content)).toBeUndefined();
  });
});
