export interface Repository {
  /** Relative to its root. */
  files: readonly string[];
  read: (file: string) => Buffer;
}

/** The files of the site by their addresses, and a sentence for each link that leads nowhere and each document without a place. */
export function buildSite(repository: Repository): { site: Map<string, string | Buffer>; problems: string[] };
