/**
 * Geohashes (https://en.wikipedia.org/wiki/Geohash). Points close to each other share a prefix, so an ordinary string index finds
 * what is near a point on every database.
 */

const ALPHABET = '0123456789bcdefghjkmnpqrstuvwxyz';
const BITS_PER_CHARACTER = 5;
/** About 5 m by 5 m. */
const GEOHASH_LENGTH = 9;
const EARTH_RADIUS_M = 6_371_008.8;
const METRES_PER_DEGREE = (Math.PI / 180) * EARTH_RADIUS_M;

export interface Point {
  lat: number;
  lng: number;
}

const radians = (degrees: number): number => (degrees * Math.PI) / 180;

/** Distance in meters along the great circle (haversine formula). */
export const distanceM = (a: Point, b: Point): number => {
  const dLat = Math.sin(radians(b.lat - a.lat) / 2);
  const dLng = Math.sin(radians(b.lng - a.lng) / 2);
  const h = dLat ** 2 + Math.cos(radians(a.lat)) * Math.cos(radians(b.lat)) * dLng ** 2;
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(h)));
};

export const encodeGeohash = ({ lat, lng }: Point, length = GEOHASH_LENGTH): string => {
  const ranges = { lng: [-180, 180], lat: [-90, 90] } as { lng: [number, number]; lat: [number, number] };
  let hash = '';
  let bits = 0;
  for (let bit = 0; bit < length * BITS_PER_CHARACTER; bit += 1) {
    const [range, value] = bit % 2 === 0 ? [ranges.lng, lng] : [ranges.lat, lat];
    const middle = (range[0] + range[1]) / 2;
    const upper = value >= middle;
    range[upper ? 0 : 1] = middle;
    bits = bits * 2 + (upper ? 1 : 0);
    if (bit % BITS_PER_CHARACTER === BITS_PER_CHARACTER - 1) {
      hash += ALPHABET[bits];
      bits = 0;
    }
  }
  return hash;
};

/** Height and width of a cell in degrees. */
const cellSize = (length: number): { lat: number; lng: number } => {
  const bits = length * BITS_PER_CHARACTER;
  return { lat: 180 / 2 ** Math.floor(bits / 2), lng: 360 / 2 ** Math.ceil(bits / 2) };
};

const wrapLng = (lng: number): number => ((((lng + 180) % 360) + 360) % 360) - 180;

export interface Neighborhood {
  /** Prefixes of the point's cell and of the eight cells around it. */
  cells: string[];
  /** Every point within this distance lies in one of the cells. */
  radiusM: number;
}

/** The point's cell of this prefix length and its neighbors. Undefined if they cross a pole. */
export const neighborhood = (point: Point, length: number): Neighborhood | undefined => {
  const size = cellSize(length);
  const farthestLat = Math.abs(point.lat) + 2 * size.lat;
  if (farthestLat >= 90) return undefined;
  // Steps start at the center of the cell: adding a cell's size to the point itself may round across a border.
  const center = (value: number, min: number, step: number, offset: number): number =>
    min + (Math.floor((value - min) / step) + 0.5 + offset) * step;
  const cells = new Set<string>();
  for (const up of [-1, 0, 1]) {
    for (const right of [-1, 0, 1]) {
      const lat = center(point.lat, -90, size.lat, up);
      const lng = wrapLng(center(point.lng, -180, size.lng, right));
      cells.add(encodeGeohash({ lat, lng }, length));
    }
  }
  const width = size.lng * Math.cos(radians(farthestLat)) * METRES_PER_DEGREE;
  // A great circle deviates from the parallel, but by much less than a tenth at these sizes.
  return { cells: [...cells], radiusM: 0.9 * Math.min(size.lat * METRES_PER_DEGREE, width) };
};
