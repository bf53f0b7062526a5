type Given<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Only the fields that were given; null is given. */
export const given = <T extends object>(input: T): Given<T> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as Given<T>;
