/** Images for tests, with metadata that must not be stored. */
import { crc32 } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';

/** Text in every kind of metadata of these images. */
export const SECRET = 'Evin, Tehran';

const WIDTH = 40;
const HEIGHT = 20;

/** Pixels of `frames` images, one below the other. The top left quarter of each is red, and the rest is blue. */
const pixels = (width: number, height: number, frames: number): Buffer => {
  const data = Buffer.alloc(frames * height * width * 3);
  for (let at = 0; at < frames * height * width; at += 1) {
    const isRed = at % width < width / 2 && Math.floor(at / width) % height < height / 2;
    data[at * 3 + (isRed ? 0 : 2)] = 255;
  }
  return data;
};

/** An image whose top left quarter is red. */
export const photo = (width = WIDTH, height = HEIGHT): Sharp =>
  sharp(pixels(width, height, 1), { raw: { width, height, channels: 3 } });

/** Frames like {@link photo}. Each differs from the previous one, so none are merged. */
export const animation = (frames = 3, width = WIDTH, height = HEIGHT): Sharp => {
  const data = pixels(width, height, frames);
  for (let frame = 0; frame < frames; frame += 1) {
    data.writeUIntBE(40 * (frame % 5), ((frame + 1) * height * width - 1) * 3, 3);
  }
  return sharp(data, { raw: { width, height: frames * height, channels: 3, pageHeight: height } });
};

export type Quarter = 'top left' | 'top right' | 'bottom left' | 'bottom right';

/** Where the red quarter of an image is, or undefined. */
export const redQuarter = async (image: Sharp): Promise<Quarter | undefined> => {
  const { data, info } = await image.removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const isRed = (right: boolean, bottom: boolean): boolean => {
    const x = Math.floor(info.width * (right ? 0.75 : 0.25));
    const y = Math.floor(info.height * (bottom ? 0.75 : 0.25));
    const at = (y * info.width + x) * info.channels;
    return (data[at] ?? 0) > 200 && (data[at + 2] ?? 255) < 60;
  };
  const quarters: [Quarter, boolean][] = [
    ['top left', isRed(false, false)],
    ['top right', isRed(true, false)],
    ['bottom left', isRed(false, true)],
    ['bottom right', isRed(true, true)],
  ];
  const matches = quarters.filter(([, red]) => red);
  return matches.length === 1 ? matches[0]?.[0] : undefined;
};

const XMP = [
  '<x:xmpmeta xmlns:x="adobe:ns:meta/">',
  '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
  `<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" dc:source="${SECRET}"/>`,
  '</rdf:RDF></x:xmpmeta>',
].join('');

/** Adds EXIF, a position and XMP. */
export const withMetadata = (image: Sharp, orientation = 1): Sharp =>
  image
    .withMetadata({ orientation })
    .withExifMerge({
      IFD0: { Copyright: SECRET },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '35/1 47/1 30/1', GPSAreaInformation: SECRET },
    })
    .withXmp(XMP);

/** A JPEG with IPTC and a comment. */
export const withSegments = (jpeg: Buffer): Buffer => {
  const segment = (marker: number, content: Buffer): Buffer => {
    const head = Buffer.from([0xff, marker, 0, 0]);
    head.writeUInt16BE(content.length + 2, 2);
    return Buffer.concat([head, content]);
  };
  const dataset = Buffer.concat([Buffer.from([0x1c, 2, 120, 0, SECRET.length]), Buffer.from(SECRET)]);
  const resource = Buffer.concat([
    Buffer.from('Photoshop 3.0\u00008BIM'),
    Buffer.from([4, 4, 0, 0, 0, 0, 0, dataset.length]),
    dataset,
    Buffer.alloc(dataset.length % 2),
  ]);
  const own = [segment(0xed, resource), segment(0xfe, Buffer.from(SECRET))];
  return Buffer.concat([jpeg.subarray(0, 2), ...own, jpeg.subarray(2)]);
};

/** A PNG with a chunk after its header. */
export const withChunk = (png: Buffer, type: string, content: Buffer): Buffer => {
  const named = Buffer.concat([Buffer.from(type), content]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([png.subarray(0, 33), length, named, checksum, png.subarray(33)]);
};

/** A GIF with a comment and XMP before its end. */
export const withExtensions = (gif: Buffer): Buffer => {
  const comment = [Buffer.from([0x21, 0xfe, SECRET.length]), Buffer.from(SECRET), Buffer.alloc(1)];
  const trailer = Buffer.from([1, ...Array.from({ length: 256 }, (_, n) => 255 - n), 0]);
  const xmp = [Buffer.from([0x21, 0xff, 11]), Buffer.from(`XMP DataXMP${XMP}`), trailer];
  return Buffer.concat([gif.subarray(0, -1), ...comment, ...xmp, gif.subarray(-1)]);
};
