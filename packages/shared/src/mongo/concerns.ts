/** Guarantees of MongoDB for the reads and writes of every connection. */
import { SECOND_MS } from '../kernel/clock.ts';
import { ConfigError } from '../kernel/config.ts';

/** How long a write waits for a majority of the members. After that it is applied, but its outcome is unknown (ADR 45). */
const WRITE_CONCERN_TIMEOUT_MS = 10 * SECOND_MS;

/** Acknowledged writes survive a failover and a crash of all members. */
export const WRITE_CONCERN = { w: 'majority', journal: true, wtimeoutMS: WRITE_CONCERN_TIMEOUT_MS } as const;

/**
 * For reads that serve a request: the newest data of the primary. A write that follows such a read has the concern
 * above. It is acknowledged only when the read data is on a majority, too. A majority read would return older data:
 * more conditional writes would fail, and no outcome would change.
 */
export const READ_CONCERN = { level: 'local' } as const;

/** For reads that look for work. Their results may leave the process before anything is written, so they must never be rolled back. */
export const DURABLE_READ_CONCERN = { level: 'majority' } as const;

/** Options of an address → their allowed values; an empty list: the option is not allowed. */
const FIXED_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  w: ['majority'],
  journal: ['true'],
  j: ['true'],
  wtimeout: [],
  wtimeoutms: [],
  readpreference: ['primary'],
  readpreferencetags: [],
  maxstalenessseconds: [],
  readconcern: ['local'],
  readconcernlevel: ['local'],
  // See `connectMongo`.
  maxadaptiveretries: [],
};

/** Throws when an option of the address contradicts the settings of every connection. The error omits the address, which is secret. */
export const assertNoContradiction = (uri: string): void => {
  const query = new URLSearchParams(uri.split('?')[1] ?? '');
  for (const [name, value] of query) {
    const allowed = FIXED_OPTIONS[name.toLowerCase()];
    if (allowed === undefined || allowed.includes(value.toLowerCase())) continue;
    throw new ConfigError(
      `Remove ${name}=${value} from the address of MongoDB: each connection sets its own read and write concern, ` +
        'read preference and retries (w=majority, journal=true, readPreference=primary, readConcernLevel=local)',
    );
  }
};
