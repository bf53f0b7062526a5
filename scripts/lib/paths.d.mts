/** Of the repository. */
export const root: string;
export const nodeBinary: string;
export const dataDirectory: string;

/** A directory for downloads that all clones share. */
export function cacheDirectory(name: string): string;

/** The path of a program, also of one that only root has on its path. */
export function findExecutable(name: string): string | undefined;
