/** Images lose their metadata and keep their orientation. Smaller images are created once. */

import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { gymDeleted } from '@fitness/proto/events/gyms.ts';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import type { RunningService } from '@fitness/shared/runtime/serve.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import sharp, { type Sharp } from 'sharp';
import { createImages } from '../src/clients/images.ts';
import { startMedia } from '../src/service.ts';
import {
  animation,
  photo,
  type Quarter,
  redQuarter,
  SECRET,
  withChunk,
  withExtensions,
  withMetadata,
  withSegments,
} from './images.ts';
import { DRAFT, fileClient, type Harness, OWNER, openHarness, PNG, pdf, STRANGER } from './support.ts';

let harness: Harness;
let replica: RunningService;
beforeAll(async () => {
  harness = await openHarness();
  replica = await startMedia(harness.config);
});
afterAll(async () => {
  await replica.close();
  await harness.close();
});

/** Larger than its smaller images. */
const LARGE = await photo(700, 350).jpeg().toBuffer();
const uploaded = async (content: Buffer, fields: Record<string, string | number> = harness.newGym()) => {
  const { status, body } = await harness.upload(OWNER, fields, content);
  if (status !== 201) throw new Error(`not uploaded: ${status} ${JSON.stringify(body)}`);
  return body.data as { id: number; size: number; mime_type: string };
};
/** Encodes an image as an upload does, or as a smaller image. */
const encoded = async (content: Buffer, format: string, maxWidth?: number): Promise<Buffer> => {
  const result = await rendered(content, format, maxWidth);
  if (typeof result === 'string') throw new Error(`not encoded: ${result}`);
  return result;
};
const images = createImages();
const rendered = (content: Buffer, format: string, maxWidth?: number) =>
  images.render(
    { open: async () => Readable.from([content]), mimeType: `image/${format}`, owner: 'user:1' },
    maxWidth,
  );
const bytesOf = async (file: number | string): Promise<Buffer> => {
  const response = await harness.download(OWNER, file);
  if (response.status !== 200) throw new Error(`not downloaded: ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
};

describe('a stored image', () => {
  const lossless = { lossless: true };
  test.each<[string, () => Promise<Buffer>]>([
    ['jpeg', async () => withSegments(await withMetadata(photo().jpeg()).toBuffer())],
    [
      'png',
      async () => {
        const text = Buffer.from(`Comment\0${SECRET}`);
        return withChunk(await withMetadata(photo().png()).toBuffer(), 'tEXt', text);
      },
    ],
    ['webp', () => withMetadata(photo().webp(lossless)).toBuffer()],
    ['gif', async () => withExtensions(await photo().gif().toBuffer())],
    ['webp', () => withMetadata(animation().webp(lossless)).toBuffer()],
    ['gif', async () => withExtensions(await animation().gif().toBuffer())],
  ])('a stored %s has no EXIF, position, XMP, IPTC or comment (%#)', async (format, make) => {
    const content = await make();
    expect(content.includes(SECRET)).toBe(true);
    const stored = await encoded(content, format);
    expect(stored.includes(SECRET)).toBe(false);
    const { exif, xmp, iptc, comments, orientation } = await sharp(stored).metadata();
    expect([exif, xmp, iptc, comments, orientation]).toEqual(Array(5).fill(undefined));
    expect(await redQuarter(sharp(stored))).toBe('top left');
  });

  /** EXIF orientation, and where the top left quarter is then shown. */
  const SHOWN: [number, Quarter][] = [
    [1, 'top left'],
    [2, 'top right'],
    [3, 'bottom right'],
    [4, 'bottom left'],
    [5, 'top left'],
    [6, 'top right'],
    [7, 'bottom right'],
    [8, 'bottom left'],
  ];
  const STILL: [string, () => Sharp][] = [
    ['jpeg', () => photo().jpeg()],
    ['png', () => photo().png()],
    ['webp', () => photo().webp(lossless)],
  ];
  test.each(
    STILL.flatMap(([name, make]) =>
      SHOWN.map(([orientation, shown]) => [name, orientation, shown, make] as const),
    ),
  )(
    'a %s with the orientation %i is stored turned, with its top left quarter at the %s',
    async (format, orientation, shown, make) => {
      const content = await withMetadata(make(), orientation).toBuffer();
      for (const maxWidth of [undefined, 320]) {
        const stored = sharp(await encoded(content, format, maxWidth));
        const { width, height } = await stored.metadata();
        expect([width, height]).toEqual(orientation <= 4 ? [40, 20] : [20, 40]);
        expect(await redQuarter(stored)).toBe(shown);
      }
    },
  );

  test.each(SHOWN)(
    'an animated WebP with the orientation %i stays animated, and each frame is turned to the %s',
    async (orientation, shown) => {
      const timed = animation().webp({ ...lossless, delay: [100, 200, 300], loop: 4 });
      const stored = await encoded(await withMetadata(timed, orientation).toBuffer(), 'webp');
      const { width, pageHeight, pages, delay, loop } = await sharp(stored, { animated: true }).metadata();
      expect({ width, pageHeight, pages, delay, loop }).toEqual({
        ...(orientation <= 4 ? { width: 40, pageHeight: 20 } : { width: 20, pageHeight: 40 }),
        pages: 3,
        delay: [100, 200, 300],
        loop: 4,
      });
      const frames = await Promise.all([0, 1, 2].map((page) => redQuarter(sharp(stored, { page }))));
      expect(frames).toEqual([shown, shown, shown]);
    },
  );

  test('an animated GIF stays animated, even as a smaller image', async () => {
    const gif = await animation(4, 400, 200)
      .gif({ delay: [100, 200, 300, 400], loop: 2 })
      .toBuffer();
    for (const width of [400, 320]) {
      const stored = await sharp(await encoded(gif, 'gif', width), { animated: true }).metadata();
      expect(stored).toMatchObject({ format: 'gif', width, pages: 4, delay: [100, 200, 300, 400], loop: 2 });
      expect(stored.pageHeight).toBe(width / 2);
    }
  });

  test('size, ETag and Content-Length of an image are those of the stored bytes', async () => {
    const content = await withMetadata(photo(400, 300).jpeg()).toBuffer();
    const { id, size } = await uploaded(content);
    const response = await harness.download(GUEST, id);
    const stored = Buffer.from(await response.arrayBuffer());
    const [row] = await harness.rows({ _id: id });
    expect(stored.includes(SECRET)).toBe(false);
    expect([stored.length, response.headers.get('content-length')]).toEqual([size, String(size)]);
    expect(response.headers.get('etag')).toBe(`"${row?.sha256}"`);
    expect(size).not.toBe(content.length);
  });

  test('private documents lose their metadata too', async () => {
    const content = withSegments(await withMetadata(photo().jpeg()).toBuffer());
    const { id } = await uploaded(content, { ...harness.newGym(), purpose: 'gym_license' });
    expect((await bytesOf(id)).includes(SECRET)).toBe(false);
  });
});

/** Files with the signature of an image, but with a header that no decoder can read. */
const HEADERLESS: [string, string, Buffer][] = [
  ['the first bytes of a PNG', 'png', Buffer.concat([PNG.subarray(0, 40), Buffer.alloc(200)])],
  [
    'the signature of a JPEG',
    'jpeg',
    Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(200)]),
  ],
  ['the container of WebP', 'webp', Buffer.concat([Buffer.from('RIFF\x40\0\0\0WEBPVP8 '), Buffer.alloc(64)])],
  ['the signature of a GIF', 'gif', Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(64)])],
];
const MARKERS = [
  'Exif\0\0',
  'eXIf',
  'EXIF',
  'XMP ',
  'XML:com.adobe.xmp',
  'http://ns.adobe.com/xap/1.0/',
  'Photoshop 3.0',
  'Raw profile type exif',
];

describe('an upload that is not a whole image', () => {
  test.each(HEADERLESS)(
    'a file with only %s is no image that could be encoded',
    async (_name, format, content) => {
      expect(await rendered(content, format)).toBe('no_image');
    },
  );

  test('a file with only the first bytes of a PNG is stored unchanged, and width= returns it', async () => {
    const [[, , content] = ['', '', PNG]] = HEADERLESS;
    const { id, size } = await uploaded(content);
    expect(size).toBe(content.length);
    for (const file of [id, `${id}?width=320`]) expect((await bytesOf(file)).equals(content)).toBe(true);
    expect((await harness.rows({ _id: id }))[0]).not.toHaveProperty('variants');
  });

  test.each<[string, () => Sharp]>([
    ['jpeg', () => photo(400, 300).jpeg()],
    ['png', () => photo(400, 300).png({ compressionLevel: 0 })],
    ['gif', () => animation(3, 400, 300).gif()],
  ])('the first two thirds of a %s are stored as an image without metadata', async (format, make) => {
    const whole = await withMetadata(make()).toBuffer();
    const part = whole.subarray(0, (whole.length * 2) / 3);
    for (const width of [400, 320]) {
      const stored = await encoded(part, format, width);
      expect(stored.includes(SECRET)).toBe(false);
      expect(await sharp(stored).metadata()).toMatchObject({ width, height: (width * 3) / 4 });
    }
  });
});

describe('refused images', () => {
  const DAMAGED = 'This image is damaged and cannot be read.';
  const TOO_LONG = 'Neither side of this image may be longer than 16,384 pixels.';
  const TOO_LARGE = 'This image must have at most 52 megapixels.';
  const TOO_MANY_FRAMES = 'This image must have at most 1,000 frames.';
  /** A PNG of one pixel whose header says otherwise. */
  const bomb = (width: number, height: number): Buffer => {
    const size = Buffer.alloc(8);
    size.writeUInt32BE(width);
    size.writeUInt32BE(height, 4);
    const header = Buffer.concat([size, PNG.subarray(24, 29)]);
    const rest = Buffer.concat([PNG.subarray(0, 8), Buffer.alloc(25), PNG.subarray(33)]);
    const whole = withChunk(rest, 'IHDR', header);
    return Buffer.concat([whole.subarray(0, 8), whole.subarray(33)]);
  };
  /** A JPEG of 800 pixels whose header says otherwise. */
  const enlarged = async (side: number): Promise<Buffer> => {
    const jpeg = await photo().jpeg().toBuffer();
    const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
    jpeg.writeUInt16BE(side, frame + 5);
    jpeg.writeUInt16BE(side, frame + 7);
    return jpeg;
  };
  /** A GIF with frames of this size, each of which ends after its first pixel. */
  const tinyGif = (frames: number, width: number, height: number): Buffer => {
    const size = Buffer.alloc(4);
    size.writeUInt16LE(width);
    size.writeUInt16LE(height, 2);
    const palette = Buffer.from([0x80, 0, 0, 0, 0, 0, 255, 255, 255]);
    const frame = Buffer.concat([Buffer.from([0x2c, 0, 0, 0, 0]), size, Buffer.from([0, 2, 2, 0x44, 1, 0])]);
    return Buffer.concat([
      Buffer.from('GIF89a'),
      size,
      palette,
      ...Array(frames).fill(frame),
      Buffer.from(';'),
    ]);
  };

  test.each(
    HEADERLESS.flatMap(([name, format, content]) =>
      MARKERS.map((marker) => [name, marker, format, content] as const),
    ),
  )(
    'an image of %s and %j, which may contain metadata, is damaged',
    async (_name, marker, format, content) => {
      expect(await rendered(Buffer.concat([content, Buffer.from(`${marker}${SECRET}`)]), format)).toBe(
        'unreadable',
      );
    },
  );

  test.each<[string, string, () => Promise<Buffer>, string]>([
    ['3,600 megapixels in some hundred bytes', 'jpeg', () => enlarged(60_000), 'too_large'],
    ['a height of 52 million pixels', 'png', async () => bomb(1, 52_000_000), 'side_too_long'],
    ['a width of 16,385 pixels', 'png', async () => bomb(16_385, 1), 'side_too_long'],
    ['a JPEG of 1 by 16,385 pixels', 'jpeg', () => photo(1, 16_385).jpeg().toBuffer(), 'side_too_long'],
    ['frames of 16,385 pixels', 'gif', async () => tinyGif(2, 1, 16_385), 'side_too_long'],
    ['1,001 frames of WebP', 'webp', () => animation(1_001, 2, 2).webp().toBuffer(), 'too_many_frames'],
  ])('an image is refused before it is decoded: %s', async (_name, format, make, refusal) => {
    expect(await rendered(await make(), format)).toBe(refusal);
  });

  test.each<[string, Buffer, string]>([
    [
      'metadata without pixels',
      Buffer.concat([PNG.subarray(0, 40), Buffer.alloc(200), Buffer.from('eXIf')]),
      DAMAGED,
    ],
    ['400 megapixels in a hundred bytes', bomb(20_000, 20_000), TOO_LARGE],
    ['a height of 16,385 pixels', bomb(1, 16_385), TOO_LONG],
    [
      'frames of more than a million pixels together',
      tinyGif(62, 1, 16_200),
      'The frames of this image may be at most 1,000,000 pixels high in total.',
    ],
    ['1,001 frames', tinyGif(1_001, 2, 2), TOO_MANY_FRAMES],
  ])(
    'a refused image is rejected with 422 under file, and nothing stays on the disk: %s',
    async (_name, content, text) => {
      const before = await harness.filesOnDisk();
      const { status, body } = await harness.upload(OWNER, harness.newGym(), content);
      expect([status, body.errors]).toEqual([422, { file: [text] }]);
      expect(await harness.filesOnDisk()).toEqual(before);
    },
  );
});

test.each<[string, string, () => Promise<Buffer>, number]>([
  ['the longest height', 'png', () => photo(1, 16_384).png().toBuffer(), 16_384],
  ['the longest width', 'png', () => photo(16_384, 1).png().toBuffer(), 16_384],
  ['as many frames as allowed', 'gif', () => animation(1_000, 2, 2).gif().toBuffer(), 4_000],
])('an image with %s is stored', async (_what, format, make, pixels) => {
  const { width, height } = await sharp(await encoded(await make(), format), { animated: true }).metadata();
  expect(width * height).toBe(pixels);
});

describe('a smaller image', () => {
  test.each(['jpeg', 'png', 'webp', 'gif'] as const)(
    'a smaller image of a %s has the format of the original and the requested width',
    async (format) => {
      const small = await encoded(await photo(800, 400).toFormat(format).toBuffer(), format, 320);
      expect(await sharp(small).metadata()).toMatchObject({ format, width: 320, height: 160 });
      expect(await redQuarter(sharp(small))).toBe('top left');
    },
  );

  test('a smaller image has the type of the original and one of three widths', async () => {
    const { id } = await uploaded(await photo(1_400, 700).png().toBuffer());
    for (const width of [320, 640, 1280]) {
      const response = await harness.download(GUEST, `${id}?width=${width}`);
      const bytes = Buffer.from(await response.arrayBuffer());
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
      expect(response.headers.get('content-length')).toBe(String(bytes.length));
      expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width, height: width / 2 });
    }
  });

  test('a smaller image has a separate ETag, which ranges, conditions and HEAD refer to', async () => {
    const { id } = await uploaded(LARGE);
    const small = `${id}?width=320`;
    const bytes = await bytesOf(small);
    const etags = await Promise.all(
      [id, small, `${id}?width=640`].map(async (file) =>
        (await harness.download(GUEST, file)).headers.get('etag'),
      ),
    );
    expect(new Set(etags).size).toBe(3);
    const etag = etags[1] ?? '';
    expect((await harness.download(GUEST, small, { 'if-none-match': etag })).status).toBe(304);
    expect((await harness.download(GUEST, id, { 'if-none-match': etag })).status).toBe(200);
    const part = await harness.download(GUEST, small, { range: 'bytes=10-19', 'if-range': etag });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 10-19/${bytes.length}`]);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(10, 20));
    const head = await harness.download(GUEST, small, {}, 'HEAD');
    expect(head.headers.get('content-length')).toBe(String(bytes.length));
    const named = await harness.download(GUEST, `${id}/a.jpg?width=320`);
    expect(Buffer.from(await named.arrayBuffer())).toEqual(bytes);
  });

  test('a smaller image is never larger than the original', async () => {
    const content = await photo(200, 100).jpeg().toBuffer();
    expect(await sharp(await encoded(content, 'jpeg', 640)).metadata()).toMatchObject({
      width: 200,
      height: 100,
    });
  });

  test('a smaller image is created once, and further requests read the stored file', async () => {
    const { id } = await uploaded(LARGE);
    const before = (await harness.filesOnDisk()).length;
    const first = await bytesOf(`${id}?width=320`);
    const files = await harness.filesOnDisk();
    expect(files).toHaveLength(before + 1);
    const [row] = await harness.rows({ _id: id });
    expect(row?.variants).toMatchObject([{ width: 320, size: first.length }]);
    expect((await bytesOf(`${id}?width=320`)).equals(first)).toBe(true);
    expect(await harness.filesOnDisk()).toEqual(files);
  });

  test('twenty concurrent first requests to two replicas get the same bytes, and one file remains', async () => {
    const { id } = await uploaded(LARGE);
    const before = (await harness.filesOnDisk()).length;
    const clients = [harness, fileClient(replica.url)];
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const response = await clients[n % 2]?.download(GUEST, `${id}?width=640`);
        return [response?.status, response?.headers.get('etag'), (await response?.arrayBuffer())?.byteLength];
      }),
    );
    const [row] = await harness.rows({ _id: id });
    const [variant, ...others] = row?.variants ?? [];
    expect(others).toEqual([]);
    const expected = [200, `"${variant?.sha256}"`, variant?.size];
    expect(answers).toEqual(Array(20).fill(expected));
    expect(await harness.filesOnDisk()).toHaveLength(before + 1);
  });

  test('a smaller image needs the same permission as the original, and is not created without it', async () => {
    const draft = (await uploaded(PNG, DRAFT)).id;
    const license = (await uploaded(PNG, { ...harness.newGym(), purpose: 'gym_license' })).id;
    const before = await harness.filesOnDisk();
    const status = async (as: typeof OWNER | typeof GUEST, id: number) =>
      (await harness.download(as, `${id}?width=320`)).status;
    expect([await status(GUEST, draft), await status(STRANGER, draft)]).toEqual([401, 403]);
    expect([await status(GUEST, license), await status(STRANGER, license)]).toEqual([403, 403]);
    expect(await harness.filesOnDisk()).toEqual(before);
    expect([await status(OWNER, draft), await status(OWNER, license)]).toEqual([200, 200]);
  });

  test('any other width is rejected with 422 under width', async () => {
    for (const content of [PNG, pdf(100)]) {
      const { id } = await uploaded(content);
      for (const width of ['1', '0320', '320.0', '641', '99999', 'abc', '-320', '320&width=640']) {
        const response = await harness.download(GUEST, `${id}?width=${width}`);
        const body = (await response.json()) as { errors: object };
        expect([width, response.status, Object.keys(body.errors)]).toEqual([width, 422, ['width']]);
      }
    }
  });

  test('the smaller image of a file that is no image is the file itself', async () => {
    const content = pdf(1_000);
    const { id } = await uploaded(content);
    expect((await bytesOf(`${id}?width=320`)).equals(content)).toBe(true);
    expect((await harness.rows({ _id: id }))[0]).not.toHaveProperty('variants');
  });

  test('the smaller image of an undecodable image of an older release is the image itself', async () => {
    const { id } = await uploaded(pdf(1_000));
    await harness.connection
      .collection<{ _id: number }>('media')
      .updateOne({ _id: id }, { $set: { mime_type: 'image/jpeg' } });
    expect((await bytesOf(`${id}?width=320`)).length).toBe(1_000);
  });

  test('a smaller image is deleted with the original, by a replacement, and with the target', async () => {
    const before = await harness.filesOnDisk();
    const gym = harness.newGym();
    const small = async (id: number): Promise<void> => {
      for (const width of [320, 640]) await bytesOf(`${id}?width=${width}`);
    };
    const first = (await uploaded(PNG, gym)).id;
    await small(first);
    expect(await harness.filesOnDisk()).toHaveLength(before.length + 3);
    await harness.send('DELETE', `/media/${first}`, { as: OWNER });
    expect(await harness.filesOnDisk()).toEqual(before);
    const license = { ...gym, purpose: 'gym_license' };
    await small((await uploaded(PNG, license)).id);
    await uploaded(PNG, license);
    expect(await harness.filesOnDisk()).toHaveLength(before.length + 1);
    await small((await uploaded(PNG, gym)).id);
    const id = gym.attachable_id;
    await harness.publish(gymDeleted, { subject: id, data: { gym_id: id } });
    await eventually(async () => (await harness.rows(gym)).length === 0);
    await eventually(async () => (await harness.filesOnDisk()).join() === before.join());
  });

  test('a smaller image that is created while its original is deleted leaves nothing', async () => {
    const content = await photo(1_600, 800).jpeg().toBuffer();
    const before = await harness.filesOnDisk();
    for (let round = 0; round < 3; round += 1) {
      const { id } = await uploaded(content);
      const [small] = await Promise.all([
        harness.download(OWNER, `${id}?width=320`),
        pause(round * 10).then(() => harness.send('DELETE', `/media/${id}`, { as: OWNER })),
      ]);
      expect([200, 404]).toContain(small.status);
      await small.arrayBuffer();
      await eventually(async () => (await harness.filesOnDisk()).join() === before.join());
    }
  });
});

test('images that would wait too long are refused with 503, and the next ones are encoded', async () => {
  const images = createImages({ waitMs: 100 });
  const never = Promise.withResolvers<Readable>();
  const mimeType = 'image/png';
  const blocked = ['a', 'b'].map((owner) => images.render({ open: () => never.promise, mimeType, owner }));
  const open = async () => Readable.from([PNG]);
  await expect(images.render({ open, mimeType, owner: 'c' })).rejects.toMatchObject({ kind: 'unavailable' });
  never.reject(new Error('gone'));
  for (const result of await Promise.allSettled(blocked)) expect(result.status).toBe('rejected');
  expect(await images.render({ open, mimeType, owner: 'a' })).toBeInstanceOf(Buffer);
});

test('the image of one user does not wait for the many images of another user', async () => {
  const images = createImages({ waitMs: 5_000 });
  const never = Promise.withResolvers<Readable>();
  const mimeType = 'image/png';
  const occupying = { open: () => never.promise, mimeType, owner: 'user:1' };
  const uploads = Array.from({ length: 20 }, () => images.render(occupying));
  const other = images.render({ open: async () => Readable.from([PNG]), mimeType, owner: 'user:2' });
  expect(await other).toBeInstanceOf(Buffer);
  never.reject(new Error('gone'));
  for (const result of await Promise.allSettled(uploads)) expect(result.status).toBe('rejected');
});
