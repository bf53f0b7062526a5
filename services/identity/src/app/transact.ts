import type { ClientSession } from '@fitness/shared/mongo/connect.ts';

/** One transaction of this service's database; `work` may run several times. */
export type Transact = <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;
