/** What the use cases are given; each takes the part that it needs. */
import type { Clock, Random } from '@fitness/shared/clock.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { Idempotency } from '@fitness/shared/http/idempotency.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { UserDirectory } from '@fitness/shared/resources/user.ts';
import type { PriceList } from '../clients/price-list.ts';
import type { PaymentGateway } from '../clients/zibal.ts';
import type { Seals } from '../store/seals.ts';
import type { WalletStore } from '../store/store.ts';

/** In percent. */
interface Rates {
  gatewayFeePercent: number;
  commissionPercent: number;
  vatPercent: number;
}

export interface WalletDeps {
  store: WalletStore;
  seals: Seals;
  outbox: Outbox;
  clock: Clock;
  random: Random;
  log: Logger;
  rates: Rates;
  users: UserDirectory;
  gateway: PaymentGateway;
  priceList: PriceList;
  idempotency: Idempotency;
}
