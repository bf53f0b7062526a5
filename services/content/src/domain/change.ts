/** A partial update: a field that the client left out is missing or undefined. */
export type Change<Fields> = { [Name in keyof Fields]?: Fields[Name] | undefined };

/** Whether the client left out every field. */
export const isEmptyChange = (change: object): boolean =>
  Object.values(change).every((value) => value === undefined);

export const applyChange = <Fields extends object>(current: Fields, change: Change<Fields>): Fields => ({
  ...current,
  ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)),
});
