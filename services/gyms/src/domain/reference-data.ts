/**
 * The provinces of Iran with their main cities, and the majors that a gym may offer. Their names are in place-names/. Clients store
 * the ids, so a new row gets the next id of its list, and no id is ever changed or reused.
 */
import { DEFAULT_LOCALE, LOCALES, type Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { PLACE_NAMES, type PlaceNames } from './place-names.ts';

/** A name in every language of the product. */
export type LocalizedName = Readonly<Record<Locale, string>>;

export interface StateRow {
  id: number;
  name: LocalizedName;
}

export interface CityRow {
  id: number;
  stateId: number;
  name: LocalizedName;
}

export interface MajorRow {
  id: number;
  title: LocalizedName;
}

/** The city ids of each state, keyed by the id of the state. */
const CITIES_OF_STATES: Record<keyof PlaceNames['states'], readonly number[]> = {
  1: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21],
  2: [22, 23, 24, 25, 26, 27, 28, 29, 30, 31],
  3: [32, 33, 34, 35, 36, 37, 38, 39, 40, 41],
  4: [42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52],
  5: [53, 54, 55, 56, 57, 58, 59, 60, 61, 62],
  6: [63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80],
  7: [81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98],
  8: [99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115],
  9: [116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128],
  10: [129, 130, 131, 132, 133, 134, 135, 136, 137, 138],
  11: [139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150],
  12: [151, 152, 153, 154, 155, 156, 157, 158],
  13: [
    159, 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179,
  ],
  14: [180, 181, 182, 183, 184, 185, 186, 187, 188, 189, 190, 191, 192, 193],
  15: [194, 195, 196, 197, 198, 199, 200, 201, 202, 203, 204, 205],
  16: [206, 207, 208, 209, 210, 211, 212, 213, 214, 215, 216, 217, 218, 219, 220, 221, 222, 223, 224],
  17: [225, 226, 227, 228, 229, 230, 231, 232, 233],
  18: [234, 235, 236, 237, 238, 239, 240, 241, 242, 243],
  19: [244, 245, 246, 247, 248, 249, 250, 251, 252],
  20: [253, 254, 255, 256, 257, 258, 259, 260, 261, 262, 263],
  21: [264, 265, 266, 267, 268, 269, 270, 271, 272, 273, 274, 275, 276, 277, 278, 279, 280, 281, 282],
  22: [283, 284, 285, 286, 287, 288, 289, 290],
  23: [291, 292, 293, 294, 295, 296, 297, 298, 299],
  24: [300, 301, 302, 303, 304, 305],
  25: [306, 307, 308, 309, 310, 311, 312, 313, 314, 315, 316, 317, 318, 319, 320, 321, 322, 323],
  26: [324, 325, 326, 327, 328, 329, 330, 331, 332],
  27: [333, 334, 335, 336, 337, 338, 339, 340, 341, 342, 343, 344],
  28: [345, 346, 347, 348, 349, 350, 351, 352, 353, 354],
  29: [355, 356, 357, 358, 359, 360, 361, 362, 363, 364, 365, 366, 367, 368, 369, 370],
  30: [371, 372, 373, 374, 375, 376, 377, 378, 379, 380, 381],
  31: [382, 383, 384, 385, 386, 387, 388, 389, 390],
};

const namesOf = (kind: keyof PlaceNames, locale: Locale): Readonly<Record<number, string>> =>
  PLACE_NAMES.get(locale)?.[kind] ?? {};

/** The name in every language. */
const nameOf = (kind: keyof PlaceNames, id: number): LocalizedName =>
  Object.fromEntries(LOCALES.map((locale) => [locale, namesOf(kind, locale)[id] ?? '']));

const CITY_IDS: readonly (readonly [stateId: string, ids: readonly number[]])[] =
  Object.entries(CITIES_OF_STATES);

export const STATES: readonly StateRow[] = CITY_IDS.map(([id]) => ({
  id: Number(id),
  name: nameOf('states', Number(id)),
}));

export const CITIES: readonly CityRow[] = CITY_IDS.flatMap(([stateId, ids]) =>
  ids.map((id) => ({ id, stateId: Number(stateId), name: nameOf('cities', id) })),
);

export const MAJORS: readonly MajorRow[] = Object.keys(namesOf('majors', DEFAULT_LOCALE)).map((id) => ({
  id: Number(id),
  title: nameOf('majors', Number(id)),
}));
