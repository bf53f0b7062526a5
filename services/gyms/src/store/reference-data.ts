/** Cities with their states, and majors. They are seeded at the start and otherwise never change. */

import { LOCALES } from '@fitness/shared/kernel/i18n/translate.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import { retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { ignoreDuplicate } from '@fitness/shared/mongo/transaction.ts';
import { type Connection, type Model, Schema, trusted } from 'mongoose';
import type { CityRow, LocalizedName, MajorRow, StateRow } from '../domain/reference-data.ts';

type Stored<Row extends { id: number }> = Omit<Row, 'id'> & { _id: number };

const localized = new Schema<LocalizedName>(
  Object.fromEntries(LOCALES.map((locale) => [locale, { type: String, required: true }])),
  { _id: false },
);
const localizedPaths = <Field extends string>(field: Field): `${Field}.${string}`[] =>
  LOCALES.map((locale) => `${field}.${locale}` as const);

const stateSchema = schemaOf<Stored<StateRow>>(
  { collection: 'states', versionKey: false, nested: { name: { type: localized, required: true } } },
  retain('not about a person', { _id: { type: Number, required: true } }, ...localizedPaths('name')),
);

const citySchema = schemaOf<Stored<CityRow>>(
  { collection: 'cities', versionKey: false, nested: { name: { type: localized, required: true } } },
  retain(
    'not about a person',
    { _id: { type: Number, required: true }, stateId: { type: Number, required: true } },
    ...localizedPaths('name'),
  ),
);

const majorSchema = schemaOf<Stored<MajorRow>>(
  { collection: 'majors', versionKey: false, nested: { title: { type: localized, required: true } } },
  retain('not about a person', { _id: { type: Number, required: true } }, ...localizedPaths('title')),
);

export interface City extends CityRow {
  state: StateRow;
}

export interface ReferenceData {
  /** Inserts and updates these rows. Other rows stay, because gyms may refer to them. */
  seed(rows: {
    states: readonly StateRow[];
    cities: readonly CityRow[];
    majors: readonly MajorRow[];
  }): Promise<void>;
  /** Keyed by id. Unknown ids are left out. */
  cities(ids: readonly number[]): Promise<Map<number, City>>;
  /** Keyed by id. Unknown ids are left out. */
  majors(ids: readonly number[]): Promise<Map<number, MajorRow>>;
  /** Ordered by id. Empty before `seed`. */
  listCities(filter: { stateId?: number | undefined }, page: PageRequest): Promise<PageOf<City>>;
  /** Ordered by id. Empty before `seed`. */
  listMajors(page: PageRequest): Promise<PageOf<MajorRow>>;
}

const modelOf = <Row>(connection: Connection, name: string, schema: Schema<Row>): Model<Row> =>
  (connection.models[name] as Model<Row> | undefined) ?? connection.model<Row>(name, schema);

const toRow = <Row extends { id: number }>({ _id, ...rest }: Stored<Row>): Row =>
  ({ ...rest, id: _id }) as unknown as Row;

/** Writes the rows that differ from the stored ones. Returns all stored rows, ordered by id. */
const upsertRows = async <Row extends { id: number }>(
  model: Model<Stored<Row>>,
  rows: readonly Row[],
): Promise<Row[]> => {
  const stored = await model.find({}).lean<Stored<Row>[]>();
  const all = new Map([...stored.map((row) => toRow<Row>(row)), ...rows].map((row) => [row.id, row]));
  const inOrder = [...all.values()].toSorted((a, b) => a.id - b.id);
  const contents = new Map(stored.map((row) => [row._id, JSON.stringify(sorted(toRow<Row>(row)))]));
  const missing = rows.filter((row) => contents.get(row.id) !== JSON.stringify(sorted(row)));
  if (missing.length === 0) return inOrder;
  const operations = missing.map(({ id, ...set }) => ({
    updateOne: { filter: { _id: id }, update: { $set: set }, upsert: true },
  }));
  await model.collection.bulkWrite(operations as never, { ordered: false }).catch(ignoreDuplicate);
  return inOrder;
};

const sorted = (row: object): unknown =>
  Object.entries(row)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([key, value]) => [key, typeof value === 'object' && value !== null ? sorted(value) : value]);

/** The rows of one collection. Seeded rows are kept in memory, because every list of gyms embeds them. */
const createRows = <Row extends { id: number }>(model: Model<Stored<Row>>) => {
  let seeded: ReadonlyMap<number, Row> = new Map();

  const byIds = async (ids: readonly number[]): Promise<Map<number, Row>> => {
    const rows = new Map<number, Row>();
    const missing = new Set<number>();
    for (const id of ids) {
      const row = seeded.get(id);
      if (row === undefined) missing.add(id);
      else rows.set(id, row);
    }
    if (missing.size === 0) return rows;
    // A newer release may have added these rows.
    const added = await model.find({ _id: trusted({ $in: [...missing] }) }).lean<Stored<Row>[]>();
    for (const row of added) rows.set(row._id, toRow<Row>(row));
    return rows;
  };

  return {
    byIds,
    /** Returns all stored rows, ordered by id. */
    seed: async (rows: readonly Row[]): Promise<Row[]> => {
      const all = await upsertRows<Row>(model, rows);
      seeded = new Map(all.map((row) => [row.id, row]));
      return all;
    },
    /** A page of the rows with these ids, which must be in order. */
    list: async (ids: readonly number[], page: PageRequest): Promise<PageOf<Row>> => {
      const [after = 0] = page.mode === 'cursor' ? page.after : [];
      const behind = page.mode === 'cursor' ? ids.filter((id) => id > after) : ids.slice(page.skip);
      const pageIds = behind.slice(0, page.perPage);
      const rowsById = await byIds(pageIds);
      const last = pageIds.at(-1);
      return {
        rows: pageIds.map((id) => rowsById.get(id)).filter((row) => row !== undefined),
        total: page.mode === 'page' ? ids.length : undefined,
        next: last !== undefined && behind.length > pageIds.length ? [last] : undefined,
      };
    },
  };
};

export const createReferenceData = (connection: Connection): ReferenceData => {
  const states = createRows(modelOf(connection, 'State', stateSchema));
  const cities = createRows(modelOf(connection, 'City', citySchema));
  const majors = createRows(modelOf(connection, 'Major', majorSchema));

  /** Set by `seed`. Nothing else writes these rows, so a list needs no count. */
  let cityIds: readonly number[] = [];
  let cityIdsOf: ReadonlyMap<number, readonly number[]> = new Map();
  let majorIds: readonly number[] = [];

  const withStates = async (rows: readonly CityRow[]): Promise<City[]> => {
    const statesById = await states.byIds(rows.map((city) => city.stateId));
    return rows.flatMap((city) => {
      const state = statesById.get(city.stateId);
      return state === undefined ? [] : [{ ...city, state }];
    });
  };

  return {
    seed: async (rows) => {
      await states.seed(rows.states);
      const allCities = await cities.seed(rows.cities);
      cityIds = allCities.map(({ id }) => id);
      cityIdsOf = new Map(
        [...Map.groupBy(allCities, (city) => city.stateId)].map(([stateId, same]) => [
          stateId,
          same.map(({ id }) => id),
        ]),
      );
      majorIds = (await majors.seed(rows.majors)).map(({ id }) => id);
    },
    cities: async (ids) => {
      const complete = await withStates([...(await cities.byIds(ids)).values()]);
      return new Map(complete.map((city) => [city.id, city]));
    },
    majors: majors.byIds,
    listCities: async ({ stateId }, page) => {
      const ids = stateId === undefined ? cityIds : (cityIdsOf.get(stateId) ?? []);
      const cityPage = await cities.list(ids, page);
      return { ...cityPage, rows: await withStates(cityPage.rows) };
    },
    listMajors: (page) => majors.list(majorIds, page),
  };
};
