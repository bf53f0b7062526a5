/** Parses `YYYY-MM-DD HH:MM:SS` in UTC, the format of timestamps between our services. */
export const parseTimestamp = (text: string): Date => new Date(`${text.replace(' ', 'T')}Z`);
