/** What the use cases of this service work with. */
import type { Clock } from '@fitness/shared/clock.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { Idempotency } from '@fitness/shared/http/idempotency.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import type { Decorations } from '../clients/decorations.ts';
import type { Gyms } from '../clients/gyms.ts';
import type { Users } from '../clients/users.ts';
import type { Wallet } from '../clients/wallet.ts';
import type { ContentStore } from '../store/store.ts';

export interface Parts {
  store: ContentStore;
  outbox: Outbox;
  sequences: Sequences;
  idempotency: Idempotency;
  clock: Clock;
  log: Logger;
  users: Users;
  gyms: Gyms;
  wallet: Wallet;
  decorations: Decorations;
}
