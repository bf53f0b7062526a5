/** What the use cases work with. */
import type { Clock } from '@fitness/shared/clock.ts';
import type { Lanes } from '@fitness/shared/events/lanes.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import type { UserDirectory } from '@fitness/shared/resources/user.ts';
import type { Documents } from '../clients/documents.ts';
import type { GymExtras } from '../clients/extras.ts';
import type { GymStore } from '../store/gym-store.ts';
import type { OwnerStore } from '../store/owner-store.ts';
import type { RatingStore } from '../store/rating-store.ts';
import type { ReferenceStore } from '../store/reference-store.ts';

export interface Parts {
  gyms: GymStore;
  owners: OwnerStore;
  ratings: RatingStore;
  reference: ReferenceStore;
  users: Pick<UserDirectory, 'getMany'>;
  extras: GymExtras;
  documents: Documents;
  outbox: Outbox;
  sequences: Sequences;
  clock: Clock;
  /**
   * Writes of one gym, by its id, one after the other in this process. The database decides between processes; but it
   * decides by starting the losers again, and a gym that a crowd rates at once would never get through to the last.
   */
  lanes: Lanes;
  /** Runs `work` in one transaction, again when the database asks for it. */
  transact: <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;
}
