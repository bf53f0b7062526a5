type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

export const omitUndefined = <T extends object>(input: T): Defined<T> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as Defined<T>;
