/** `1 event`, `1,200 events`: for the output of commands, which is English. */
export const pluralize = (count: number, one: string, several = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : several}`;
