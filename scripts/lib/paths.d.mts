/** For the tests, which are TypeScript. */
export const dataDirectory: string;
export function cacheDirectory(name: string): string;
