/**
 * Fields of a resource, declared once. A field that requests may omit has a default:
 * `level: z.enum(LEVELS).nullable().default(null)`.
 *
 * - A creation takes `z.object(fields)`: an omitted field gets its default.
 * - A change takes `z.object(withoutDefaults(fields)).partial()`: an omitted field stays as it is.
 * - A stored document is read through `z.object(fields)`: a document that is older than a field gets its default.
 * - A response has `withoutDefaults(fields)`: every field is present.
 */
import { z } from 'zod';

type WithoutDefaults<Shape extends z.ZodRawShape> = {
  [Name in keyof Shape]: Shape[Name] extends z.ZodDefault<infer Field> ? Field : Shape[Name];
};

/** `.partial()` alone keeps defaults, so a change would reset each field that it omits. */
export const withoutDefaults = <Shape extends z.ZodRawShape>(shape: Shape): WithoutDefaults<Shape> =>
  Object.fromEntries(
    Object.entries(shape).map(([name, field]) => [
      name,
      field instanceof z.ZodDefault ? field.unwrap() : field,
    ]),
  ) as WithoutDefaults<Shape>;
