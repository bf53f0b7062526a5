/** The types of lists. */
import type { paths } from './generated/schema.ts';

/** Paths of the lists. A page has rows and the cursor of the next page. */
export type ListPath = {
  [Path in keyof paths]: paths[Path] extends { get: RespondsWith<ListBody> } ? Path : never;
}[keyof paths];
export interface ListBody {
  data: unknown[];
  meta: { next_cursor: string | null };
}
interface RespondsWith<Body> {
  responses: { 200: { content: { 'application/json': Body } } };
}
export type Row<Path extends ListPath> = paths[Path] extends {
  get: RespondsWith<infer Body extends ListBody>;
}
  ? Body['data'][number]
  : never;
export type Query<Path extends ListPath> = paths[Path] extends {
  get: { parameters: { query?: infer Parameters } };
}
  ? Omit<NonNullable<Parameters>, 'page' | 'cursor'>
  : never;
