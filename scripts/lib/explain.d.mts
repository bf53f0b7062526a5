export function explain(command: string, error: unknown): string;
/** A sentence that names the disk with less than `leastMib` left. */
export function fullDisk(leastMib?: number): string | undefined;
