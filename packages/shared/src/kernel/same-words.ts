/** Whether two lists have the same words in any order. */
export const sameWords = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && new Set([...a, ...b]).size === a.length;
