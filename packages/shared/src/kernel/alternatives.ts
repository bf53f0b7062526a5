/**
 * Providers of one kind, of which a variable chooses one. Each declares its variables; those without a default are required
 * only when it is chosen.
 */
import { z } from 'zod';

interface Alternative {
  /** A value of the variable that chooses. */
  name: string;
  variables: Record<string, z.ZodType>;
}

type UnionToIntersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  member: infer Intersection,
) => void
  ? Intersection
  : never;

/** A field without a default may be absent, since another member may be chosen. */
type Optional<Field> = Field extends z.ZodDefault
  ? Field
  : Field extends z.ZodType
    ? z.ZodOptional<Field>
    : never;

type Shape<Variable extends string, Member extends Alternative> = {
  [Name in Variable]: z.ZodDefault<z.ZodEnum<{ [Each in Member['name']]: Each }>>;
} & {
  [Name in keyof UnionToIntersection<Member['variables']>]: Optional<
    UnionToIntersection<Member['variables']>[Name]
  >;
};

export interface Alternatives<Variable extends string, Member extends Alternative> {
  names: readonly Member['name'][];
  /** `variable`, whose default is the first member, and the variables of all members. */
  shape: Shape<Variable, Member>;
  /** For `superRefine`: each required variable of the chosen member that is absent is an issue. */
  requireChosen: (config: { [Name in Variable]: string }, context: z.RefinementCtx) => void;
  chosen: (config: { [Name in Variable]: string }) => Member;
}

const isRequired = (field: z.ZodType): boolean => !field.safeParse(undefined).success;

export const alternatives = <const Variable extends string, Member extends Alternative>(
  variable: Variable,
  members: readonly Member[],
): Alternatives<Variable, Member> => {
  const names = members.map(({ name }) => name);
  const chosen = (config: { [Name in Variable]: string }): Member => {
    const member = members.find(({ name }) => name === config[variable]);
    if (member === undefined) throw new Error(`no ${variable} ${config[variable]}`);
    return member;
  };
  const fields = members.flatMap(({ variables }) => Object.entries(variables));
  return {
    names,
    shape: {
      [variable]: z.enum(names).default(names[0] as Member['name']),
      ...Object.fromEntries(
        fields.map(([name, field]) => [name, isRequired(field) ? field.optional() : field]),
      ),
    } as never,
    requireChosen: (config, context) => {
      const values = config as Record<string, unknown>;
      for (const [name, field] of Object.entries(chosen(config).variables)) {
        if (!isRequired(field) || values[name] !== undefined) continue;
        const message = `is needed with ${variable}=${config[variable]}`;
        context.addIssue({ code: 'custom', path: [name], message });
      }
    },
    chosen,
  };
};
