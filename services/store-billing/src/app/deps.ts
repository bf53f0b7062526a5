/** What the use cases are given; each takes the part that it needs. */
import type { Clock, Random } from '@fitness/shared/clock.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { Idempotency } from '@fitness/shared/http/idempotency.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { StoreChannel } from '../channels/channel.ts';
import type { Targets } from '../clients/targets.ts';
import type { Wallet } from '../clients/wallet.ts';
import type { Catalogue } from '../domain/offer.ts';
import type { BillingStore } from '../store/store.ts';
import type { Background } from './background.ts';

export interface BillingDeps {
  store: BillingStore;
  outbox: Outbox;
  clock: Clock;
  random: Random;
  log: Logger;
  catalogue: Catalogue;
  channel: StoreChannel;
  targets: Targets;
  wallet: Wallet;
  idempotency: Idempotency;
  background: Background;
  /** For how long a request is tried that others stand in the way of. */
  requestPatienceMs: number;
}
